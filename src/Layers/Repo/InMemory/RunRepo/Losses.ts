import * as Effect from "effect/Effect"
import { kindOf, type StoredRun } from "../../../../Schemas/Run.ts"
import { loseWorker } from "../../../../Schemas/RunLoss.ts"
import type { RunRepo } from "../../../../Services/RunRepo.ts"
import { inOrder } from "../Order.ts"
import { setRun, type Tables } from "../Store.ts"
import { type Moment, moment } from "./Moment.ts"
import { runsOfKind } from "./Ordered.ts"
import { start } from "./Start.ts"

/** Counts that a run lost its worker. True when that was once too often, and it is FAILED. */
const isPoison = (tables: Tables, run: StoredRun, maxCrashes: number, { at }: Moment): boolean => {
  const { failed, losses } = loseWorker({
    run,
    losses: tables.crashes.get(run.id) ?? 0,
    steps: Array.from(tables.steps.get(run.id)?.values() ?? []),
    maxCrashes,
    at
  })
  tables.crashes.set(run.id, losses)
  if (failed === null) return false
  tables.leases.delete(run.id)
  setRun(tables, failed)
  return true
}

/** What becomes of runs that lose their worker: another takes them over, or they are handed back. */
export const make = (tables: Tables): Pick<RunRepo["Service"], "takeOver" | "release"> => {
  const { leases, runs } = tables
  const leaseEnd = ({ id }: StoredRun) => leases.get(id)?.until ?? Number.NEGATIVE_INFINITY
  return {
    takeOver: ({ limit, maxCrashes, ...claimant }) =>
      Effect.map(moment, (at) =>
        runsOfKind(tables, claimant.kind, "RUNNING")
          .filter((run) => leaseEnd(run) <= at.millis)
          .sort((a, b) => leaseEnd(a) - leaseEnd(b))
          .slice(0, limit)
          .filter(
            (run) => leases.get(run.id)?.worker === claimant.worker || !isPoison(tables, run, maxCrashes, at)
          )
          .map((run) => start(tables, run, claimant, at))
          .sort(inOrder("createdAt"))
      ),
    release: (worker, { crashed, kind = "task", maxCrashes }) =>
      Effect.map(moment, (at) => {
        for (const [id, lease] of leases) {
          const run = runs.get(id)
          if (lease.worker !== worker || run?.status !== "RUNNING" || kindOf(run) !== kind) continue
          if (crashed && isPoison(tables, run, maxCrashes, at)) continue
          leases.delete(id)
          runs.set(id, { ...run, status: "PENDING", ...(crashed && { updatedAt: at.at }) })
        }
      })
  }
}
