import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { AnsweringModel } from "../Schemas/AnsweringModel.ts"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { InferenceError, InferenceEvent, InferenceRequest } from "../Schemas/Inference.ts"
import type { ModelChoice } from "../Schemas/ModelChoice.ts"
import type { Pricing } from "../Schemas/Pricing.ts"

/** How a model is asked where a budget has to hold. */
export interface Asking<E> {
  /** How many tokens an answer may have: the provider is told. */
  readonly maxOutputTokens: number
  /** Before it is asked another time. */
  readonly again: Effect.Effect<void, E>
  /** It gave no answer. `isUnasked`: the model surely never had the question, which cost nothing. */
  readonly failed: (isUnasked: boolean) => Effect.Effect<void>
}

/** A language model, ready to be asked. */
export interface Model {
  readonly answeredBy: AnsweringModel
  /** What its tokens cost; null: that is not known. */
  readonly pricing: Pricing | null
  /** How many tokens an answer may have at most by its key; null: that is left to the provider. */
  readonly maxOutputTokens?: number | null
  /** Whether the workspace had a budget when the model was looked up. */
  readonly hasBudget?: boolean
  /**
   * Asks once. The stream ends with one `finish` event; one that ends without was cut off, and so was an
   * answer whose `finish` says that it is `truncated`. What fails before something was said is tried again
   * where that can help; after it nothing is. What the request shows of the model's own thoughts goes back to
   * it, and no other's. Interrupting it closes the connection to the provider. `asking` is told of each try.
   */
  readonly stream: <E = never>(
    request: InferenceRequest,
    asking?: Asking<E>
  ) => Stream.Stream<InferenceEvent, InferenceError | E>
}

/** Language models. */
export class Inference extends Context.Service<
  Inference,
  {
    /** The model of a choice, with keys of that workspace or the operator's only. Asks nothing yet. */
    readonly model: (choice: ModelChoice) => Effect.Effect<Model, InferenceError | Unavailable>
    /**
     * Why the operator does not let a choice be answered (`AGENTD_MODELS`), as a sentence that names the field and
     * what there is. Asks the database only where there is such a list and a model or provider is named.
     */
    readonly refusal: (choice: ModelChoice) => Effect.Effect<string | undefined, Unavailable>
  }
>()("agentd/Services/Inference") {}
