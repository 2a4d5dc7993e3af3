import * as Effect from "effect/Effect"
import type { StoredRun } from "../../Schemas/Run.ts"
import { waitingApproval } from "../../Schemas/RunEvent.ts"
import type { BoundCall } from "../../Schemas/ToolBinding.ts"
import { ApprovalRepo } from "../ApprovalRepo.ts"
import type { ExecutionLog } from "./ExecutionLog.ts"
import * as Permissions from "./Permissions.ts"

/**
 * Hands a run to people: until they have decided it holds no place, fiber or connection. The last decision makes it
 * PENDING (`ApprovalRepo.decide`): then it is claimed like any other, goes on behind its finished steps, and the calls
 * that were asked about are made or refused (`Permissions`). Nobody decides in time: `Upkeep` ends it.
 */
export const make = Effect.gen(function* () {
  const approvals = yield* ApprovalRepo
  const permissions = yield* Permissions.make

  return Effect.fnUntraced(function* (run: StoredRun, calls: ReadonlyArray<BoundCall>, log: ExecutionLog) {
    const asked = yield* permissions.questions(run, calls)
    yield* log.write(
      (batches) => approvals.park(log.execution, asked, batches, log.firstTokenAt()),
      asked.map(({ id, toolCallId }) => waitingApproval(id, toolCallId))
    )
  })
})
