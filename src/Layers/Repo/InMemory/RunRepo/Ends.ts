import * as Effect from "effect/Effect"
import { isTerminal, kindOf } from "../../../../Schemas/Run.ts"
import * as Metrics from "../../../../Services/Metrics.ts"
import type { RunRepo } from "../../../../Services/RunRepo.ts"
import { keepEvents, setRun, type Tables } from "../Store.ts"

/** How runs end. */
export const make = (tables: Tables): Pick<RunRepo["Service"], "finish" | "cancel"> => {
  const { approvals, leases, runs, spent } = tables
  return {
    finish: (execution, outcome, { at, firstTokenAt }, batches) =>
      Effect.sync(() => {
        const run = runs.get(execution.id)
        const isOwn = leases.get(execution.id)?.worker === execution.worker
        if (run?.epoch !== execution.epoch || !isOwn) return false
        const output = outcome.output ?? null
        const error = outcome.status === "FAILED" ? outcome.error : null
        if (run.status === outcome.status) return run.output === output && run.error === error
        if (run.status !== "RUNNING") return false
        keepEvents(tables, run.id, batches)
        if (outcome.spent !== undefined) spent.set(run.id, outcome.spent)
        setRun(tables, {
          ...run,
          status: outcome.status,
          output,
          error,
          errorCode: outcome.status === "FAILED" ? outcome.code : null,
          usage: outcome.usage,
          firstTokenAt: run.firstTokenAt ?? firstTokenAt,
          finishedAt: at,
          updatedAt: at
        })
        return true
      }),
    cancel: (id, at) =>
      Effect.suspend(() => {
        const run = runs.get(id)
        if (run === undefined || isTerminal(run.status)) return Effect.succeed(false)
        setRun(tables, { ...run, status: "CANCELLED", finishedAt: at, updatedAt: at })
        for (const approval of approvals.values()) {
          if (approval.runId === id && approval.status === "PENDING") {
            approvals.set(approval.id, { ...approval, status: "EXPIRED" })
          }
        }
        return Effect.as(Metrics.countEnds(kindOf(run), "CANCELLED"), true)
      })
  }
}
