import * as Effect from "effect/Effect"
import { planBackfill } from "../../Schemas/CronBackfill.ts"
import { CronBackfillRepo, type LookedAt } from "../../Services/CronBackfillRepo.ts"
import { Settings } from "../../Services/Settings.ts"
import { Signals } from "../../Services/Signals.ts"
import { Transaction } from "../../Services/Transaction.ts"
import { countSlots, makeRunOf, withEntries } from "./Made.ts"

/** `Scheduler.backfillDue`, of so many jobs in a transaction. */
export const makeBackfillDue = Effect.fnUntraced(function* (batch: number) {
  const repo = yield* CronBackfillRepo
  const runOf = yield* makeRunOf
  const { quotas } = yield* Settings
  const signals = yield* Signals
  const transaction = yield* Transaction

  const look = Effect.gen(function* () {
    const { at, jobs } = yield* repo.claim(batch, quotas.pendingRuns)
    if (jobs.length === 0) return { jobs: 0, made: 0 }
    const looked: Array<LookedAt> = []
    const madeIn = new Map<string, number>()
    for (const job of jobs) {
      const made = madeIn.get(job.workspaceId) ?? 0
      const { againMillis, isMade } = planBackfill(job, made)
      if (isMade) madeIn.set(job.workspaceId, made + 1)
      looked.push({
        cronJobId: job.id,
        scheduledAt: job.slot,
        run: isMade ? yield* runOf(job, at, job.slot) : null,
        again: new Date(at.getTime() + againMillis)
      })
    }
    const made = yield* withEntries(looked)(repo.record(at, looked))
    return { jobs: jobs.length, made: made.length }
  })

  return Effect.gen(function* () {
    const { jobs, made } = yield* transaction.atomically(look)
    if (made > 0) {
      yield* signals.publish({ type: "runs", kind: "task" })
      yield* countSlots("backfilled", made)
    }
    return jobs
  })
})
