import * as Effect from "effect/Effect"
import type { StoredRun } from "../../Schemas/Run.ts"
import { waitingApproval } from "../../Schemas/RunEvent.ts"
import type { ToolCall } from "../../Schemas/Tool.ts"
import { ApprovalRepo } from "../ApprovalRepo.ts"
import type { ExecutionLog } from "./ExecutionLog.ts"
import * as Permissions from "./Permissions.ts"

/** Hands a run to people: until they have decided it holds no place, fiber or connection. */
export const make = Effect.gen(function* () {
  const approvals = yield* ApprovalRepo
  const permissions = yield* Permissions.make

  return Effect.fn("Engine.park")(function* (
    run: StoredRun,
    calls: ReadonlyArray<ToolCall>,
    log: ExecutionLog
  ) {
    const asked = yield* permissions.questions(run, calls)
    yield* log.write(
      (batches) => approvals.park(log.execution, asked, batches, log.firstTokenAt()),
      asked.map(({ id, toolCallId }) => waitingApproval(id, toolCallId))
    )
  })
})
