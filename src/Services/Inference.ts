import * as Context from "effect/Context"
import type * as Stream from "effect/Stream"
import type { InferenceError, InferenceEvent, InferenceRequest } from "../Schemas/Inference.ts"

/** Language models. */
export class Inference extends Context.Service<
  Inference,
  {
    /**
     * Asks a model once. The stream ends with one `finish` event; one that ends without was cut off.
     * Interrupting it stops the request upstream.
     */
    readonly stream: (request: InferenceRequest) => Stream.Stream<InferenceEvent, InferenceError>
  }
>()("agentd/Services/Inference") {}
