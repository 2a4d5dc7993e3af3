import * as Effect from "effect/Effect"
import { notFound } from "../../../../Schemas/Errors.ts"
import { isPutAside } from "../../../../Schemas/Journal.ts"
import { quotaExceeded } from "../../../../Schemas/Quotas.ts"
import { RunNotRetryable, retried, retryEvent, retryProblem } from "../../../../Schemas/RunRetry.ts"
import { now } from "../../../../Services/CurrentTime.ts"
import type { RunRepo } from "../../../../Services/RunRepo.ts"
import { noteExecution } from "../Executions.ts"
import { type KeptStep, keepEvents, setRun, type Tables } from "../Store.ts"
import { fullPlan } from "./Claims.ts"

/** From 0 on, those that are whole. */
const keptOf = (steps: ReadonlyMap<number, KeptStep>): ReadonlyMap<number, KeptStep> => {
  const aside = Array.from(steps.keys()).filter(isPutAside).length
  return new Map(
    Array.from(steps, ([index, kept]) => {
      const isHalf = kept.step.type === "model" && kept.step.truncated !== undefined && !isPutAside(index)
      return [isHalf ? -1 - aside : index, { ...kept, workedMillis: 0 }]
    })
  )
}

/** How runs that are over go on. */
export const make = (tables: Tables): Pick<RunRepo["Service"], "retry"> => ({
  retry: Effect.fnUntraced(function* (id, at, mostPending) {
    const { approvals, crashes, events, leases, pruned, runs, steps } = tables
    const run = runs.get(id)
    if (run === undefined) return yield* notFound("run")
    const problem = retryProblem(run, (pruned.get(id) ?? 0) >= 2)
    if (problem !== undefined) return yield* new RunNotRetryable({ error: problem })
    const full = fullPlan(tables, run, mostPending)
    if (full !== undefined) {
      return yield* quotaExceeded("pendingRuns", full, mostPending?.[full] ?? null)
    }
    keepEvents(tables, id, [[retryEvent(run, events.get(id)?.at(-1)?.at(-1)?.id ?? 0)]])
    for (const table of [crashes, leases, pruned]) table.delete(id)
    const known = steps.get(id)
    if (known !== undefined) steps.set(id, keptOf(known))
    for (const approval of approvals.values()) {
      if (approval.runId === id && approval.status === "EXPIRED") approvals.delete(approval.id)
    }
    const again = retried(run, at)
    setRun(tables, again)
    noteExecution(tables, run, again, yield* now)
    return again
  })
})
