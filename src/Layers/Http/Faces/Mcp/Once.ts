import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { InvalidInput } from "../../../../Schemas/Errors.ts"
import { keyOfHeader, requestText } from "../../../../Schemas/Idempotency.ts"
import { RunId } from "../../../../Schemas/Ids.ts"
import type { Caller } from "../../../../Schemas/Token.ts"
import { Idempotency } from "../../../../Services/Idempotency.ts"
import type { ToolAnswer } from "./Results.ts"

/** What a call has begun, which answers it, or what it is answered. */
export type Begun =
  | { readonly runId: RunId; readonly kind: "task" | "turn" }
  | { readonly answer: ToolAnswer }

const kept = Schema.fromJsonString(
  Schema.Union([
    Schema.Struct({ runId: RunId, kind: Schema.Literals(["task", "turn"]) }),
    Schema.Struct({ answer: Schema.Json })
  ])
)
const encode = Schema.encodeSync(kept)
const decode = Schema.decodeUnknownOption(kept)

export const keySentence = "Idempotency-Key: must be 1 to 255 visible ASCII characters"

/**
 * Does what a call asks for once, where it has a key (CONTRACT.md section 9): in the header, or as `agentd/idempotencyKey` in
 * `_meta` of its request, for clients whose headers are the same for all. The id of a request is no key: clients count
 * from 0 anew.
 */
export const make = Effect.gen(function* () {
  const { once } = yield* Idempotency

  return Effect.fnUntraced(function* <E, R>(
    call: {
      readonly caller: Caller
      readonly key: string | undefined
      /** What is asked, the workspace of the header among it. */
      readonly asked: Schema.JsonObject
    },
    begin: Effect.Effect<Begun, E, R>
  ) {
    if (call.key === undefined) return yield* begin
    const key = keyOfHeader(call.key)
    if (key === undefined) return yield* new InvalidInput({ error: keySentence })
    const keyed = {
      caller: call.caller,
      method: "POST",
      path: "/mcp",
      key,
      request: requestText({}, call.asked),
      keeping: "within" as const
    }
    const perform = Effect.map(begin, (begun) => ({
      answer: {
        status: 200,
        headers: {},
        cookies: [],
        contentType: "application/json",
        body: encode(begun as typeof kept.Type)
      }
    }))
    const { performed } = yield* once(keyed, perform)
    const body = "answer" in performed ? performed.answer.body : ""
    return Option.getOrThrow(decode(body)) as Begun
  })
})
