import * as Schema from "effect/Schema"
import { BoundCall } from "./ToolBinding.ts"

/** Another worker has taken the work over, or it is gone: nothing more may be written. */
export class OwnershipLost extends Schema.TaggedError<OwnershipLost>()("OwnershipLost", {}) {}

/** No further step begins here, because the process stops: another worker goes on behind the last one. */
export class HandedBack extends Schema.TaggedError<HandedBack>()("HandedBack", {}) {}

/** Calls of the last answer that somebody must decide about; everything else of it is done and kept. */
export class ApprovalNeeded extends Schema.TaggedError<ApprovalNeeded>()("ApprovalNeeded", {
  calls: Schema.Array(BoundCall)
}) {}
