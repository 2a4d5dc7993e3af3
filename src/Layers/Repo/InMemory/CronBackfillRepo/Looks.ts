import * as Effect from "effect/Effect"
import type { DueBackfill } from "../../../../Schemas/CronBackfill.ts"
import type { CronBackfillRepo } from "../../../../Services/CronBackfillRepo.ts"
import { dueJob, lookedAt } from "../CronFireRepo/Due.ts"
import { countAll } from "../Quotas.ts"
import { moment } from "../RunRepo/Moment.ts"
import { fireKey, type Tables } from "../Store.ts"

/** The slots of a job that wait, oldest first. */
export const waitingOf = ({ cronBackfills }: Tables, id: string): ReadonlyArray<Date> =>
  Array.from(cronBackfills.values())
    .filter(({ cronJobId }) => cronJobId === id)
    .map(({ scheduledAt }) => scheduledAt)
    .sort((a, b) => a.getTime() - b.getTime())

/** Whether a slot has had its run, by its key. */
export const hadRun = ({ cronFires }: Tables, key: string): boolean => {
  const outcome = cronFires.get(key)?.outcome
  return outcome === "fired" || outcome === "backfilled"
}

/** Which jobs are looked at, and what becomes of them. */
export const make = (tables: Tables): Pick<CronBackfillRepo["Service"], "claim" | "record"> => {
  const { cronBackfillLooks, cronBackfills, cronFires, cronJobs, runs, workspaces } = tables
  return {
    claim: (limit, most) =>
      Effect.map(moment, (then) => {
        const { at } = then
        return {
          at,
          jobs: lookedAt(tables, at)
            .flatMap((look): ReadonlyArray<DueBackfill> => {
              const job = cronJobs.get(look.id)
              const [slot] = waitingOf(tables, look.id)
              if (job === undefined || slot === undefined || look.at > at) return []
              if (job.nextFireAt !== null && job.nextFireAt <= at) return []
              const allowed = most[workspaces.get(job.workspaceId)?.plan ?? "free"]
              const { pendingRuns } = countAll(tables, job.workspaceId, "", at)
              return [
                { ...dueJob(tables, job, slot, then), room: allowed === null ? null : allowed - pendingRuns }
              ]
            })
            .slice(0, limit)
        }
      }),
    record: (at, looked) =>
      Effect.sync(() =>
        looked.flatMap(({ again, cronJobId, run, scheduledAt }) => {
          const key = fireKey(cronJobId, scheduledAt)
          if (run !== null) cronBackfills.delete(key)
          const isMade = run !== null && !hadRun(tables, key)
          if (waitingOf(tables, cronJobId).length === 0) cronBackfillLooks.delete(cronJobId)
          else {
            const isLate = run !== null && !isMade
            cronBackfillLooks.set(cronJobId, { at: isLate ? at : again, wasBusy: true })
          }
          if (!isMade) return []
          cronFires.set(key, {
            cronJobId,
            scheduledAt,
            firedAt: at,
            outcome: "backfilled",
            runId: run.id
          })
          runs.set(run.id, run)
          return [run.id]
        })
      )
  }
}
