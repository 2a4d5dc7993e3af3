import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { endUndecided, type StoredApproval } from "../../../../Schemas/Approval.ts"
import { kindOf, type StoredRun } from "../../../../Schemas/Run.ts"
import type { ApprovalRepo } from "../../../../Services/ApprovalRepo.ts"
import * as Metrics from "../../../../Services/Metrics.ts"
import { noteExecution } from "../Executions.ts"
import { setRun, type Tables } from "../Store.ts"
import { approvalsWith } from "./Ordered.ts"

/** What becomes of approvals and of the run that waits for them: somebody decides, or nobody does in time. */
export const make = (tables: Tables): Pick<ApprovalRepo["Service"], "decide" | "expire"> => {
  const { approvals, runs } = tables
  const having = (matches: (approval: StoredApproval) => boolean) => approvalsWith(tables, matches)
  return {
    decide: (id, decision) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        const approval = approvals.get(id)
        const run = approval && runs.get(approval.runId)
        if (
          approval?.status !== "PENDING" ||
          approval.expiresAt.getTime() <= at ||
          run?.status !== "WAITING_APPROVAL"
        ) {
          return false
        }
        approvals.set(id, { ...approval, ...decision })
        if (having(({ runId, status }) => runId === run.id && status === "PENDING").length === 0) {
          const updatedAt = new Date(at)
          const pending: StoredRun = { ...run, status: "PENDING", attempts: run.attempts - 1, updatedAt }
          runs.set(run.id, pending)
          noteExecution(tables, run, pending, updatedAt)
        }
        return true
      }),
    expire: (limit) =>
      Effect.gen(function* () {
        const at = yield* Clock.currentTimeMillis
        const late = having(({ expiresAt, status }) => status === "PENDING" && expiresAt.getTime() <= at)
        const ids = Array.from(new Set(late.map(({ runId }) => runId)))
          .filter((id) => runs.get(id)?.status === "WAITING_APPROVAL")
          .slice(0, limit)
        for (const id of ids) {
          const run = runs.get(id)
          if (run === undefined) continue
          setRun(tables, endUndecided(run, new Date(at)))
          yield* Metrics.countEnds(kindOf(run), "FAILED")
          for (const approval of having(({ runId, status }) => runId === id && status === "PENDING")) {
            approvals.set(approval.id, { ...approval, status: "EXPIRED" })
          }
        }
        return ids
      })
  }
}
