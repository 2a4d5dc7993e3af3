import * as Schema from "effect/Schema"
import { RunId } from "../../../../Schemas/Ids.ts"
import { opaque } from "./Opaque.ts"

/** A run or chat turn that answers a request, from the event behind `after` on. */
export const Followed = Schema.Struct({
  runId: RunId,
  kind: Schema.Literals(["task", "turn"]),
  after: Schema.Int,
  /** Of the request: what answers it says so. */
  rpcId: Schema.Union([Schema.String, Schema.Int]),
  progressToken: Schema.optionalKey(Schema.Union([Schema.String, Schema.Int])),
  /** Whether it was asked for as the result of a task. */
  ofTask: Schema.Boolean
})
export type Followed = typeof Followed.Type

/** Where a stream is, as the id of an event: with it any node goes on. */
export const place = opaque(Schema.fromJsonString(Followed))

/** What the `requestState` of a call says that waits for people: which run it is about, and what was told of it. */
export const callState = opaque(
  Schema.fromJsonString(Schema.Struct({ runId: RunId, kind: Followed.fields.kind, after: Schema.Int }))
)
