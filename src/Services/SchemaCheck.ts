import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

/** What came of a check. */
export type Checked =
  | { readonly outcome: "fits" }
  /** What is wrong with the value, in a sentence that begins with its name. */
  | { readonly outcome: "unfit"; readonly error: string }
  /** It could not be checked in time. */
  | { readonly outcome: "late" }
  /** The schema can't be evaluated: a reference to nothing, a pattern that is none. */
  | { readonly outcome: "unusable" }

/** Checks JSON by the JSON Schemas of others: of the tools of servers, and of the answers that callers want. */
export class SchemaCheck extends Context.Service<
  SchemaCheck,
  {
    /**
     * Checks a value by a JSON Schema (drafts 4, 7, 2019-09 and 2020-12, which is the one where it does not say).
     * Schemas tell how long they take: nothing else of the process waits for that, one that takes longer than 500 ms or
     * overflows the stack is `late`, as are all by this schema of this owner for 10 minutes, without a try. Of each
     * owner one waits at a time.
     */
    readonly check: (question: {
      /** Whose schema it is: what is refused to one owner is not to another. */
      readonly owner: string
      readonly schema: Schema.JsonObject
      readonly value: Schema.Json
      /** What the value is called in words. */
      readonly name: string
    }) => Effect.Effect<Checked>
  }
>()("agentd/Services/SchemaCheck") {}
