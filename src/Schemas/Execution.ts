import * as Schema from "effect/Schema"
import { ToolCall } from "./Tool.ts"

/** Another worker has taken the work over, or it is gone: nothing more may be written. */
export class OwnershipLost extends Schema.TaggedError<OwnershipLost>()("OwnershipLost", {}) {}

/** Calls of the last answer that somebody must decide about; everything else of it is done and kept. */
export class ApprovalNeeded extends Schema.TaggedError<ApprovalNeeded>()("ApprovalNeeded", {
  calls: Schema.Array(ToolCall)
}) {}
