import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as SchedulerLayer from "../../src/Layers/Scheduler.ts"
import type { CreateCronJob } from "../../src/Schemas/CronJob.ts"
import type { CronJobId } from "../../src/Schemas/Ids.ts"
import { CronFireRepo } from "../../src/Services/CronFireRepo.ts"
import { CronJobRepo } from "../../src/Services/CronJobRepo.ts"
import { CronJobs } from "../../src/Services/CronJobs.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { makeTenant } from "../support/Service.ts"

/** A scheduler, until it is stopped. */
export const start = Effect.gen(function* () {
  const scope = yield* Scope.make()
  yield* Layer.buildWithScope(Layer.fresh(SchedulerLayer.layer), scope)
  yield* TestClock.adjust(0)
  return { stop: Scope.close(scope, Exit.void) }
})

export const setTime = (iso: string) => TestClock.setTime(Date.parse(iso))

/** A tenant at 08:00:00.123 UTC on a Friday, with what its jobs left. */
export const makeSubject = Effect.gen(function* () {
  yield* setTime("2026-11-20T08:00:00.123Z")
  const fires = yield* CronFireRepo
  const jobs = yield* CronJobs
  const repo = yield* CronJobRepo
  const runs = yield* RunRepo
  const { user, workspaceId } = yield* makeTenant()
  const make = (given: Partial<CreateCronJob> = {}) =>
    jobs.create(user, { workspaceId, name: "Job", schedule: "0 9 * * *", prompt: "Do it", ...given })
  /** The ledger of a job, newest first, as `time outcome`. */
  const ledger = ({ id }: { readonly id: CronJobId }, limit = 100) =>
    Effect.map(fires.list({ cronJobId: id, limit, offset: 0 }), (all) =>
      all.map(({ outcome, scheduledAt }) => `${scheduledAt.toISOString().slice(5, 19)} ${outcome}`)
    )
  const runsOf = ({ id }: { readonly id: CronJobId }) =>
    Effect.map(runs.list({ workspaceId, cronJobId: id, limit: 100, offset: 0 }), (found) => found.runs)
  /** Ends every active run of a job. */
  const endRuns = Effect.fnUntraced(function* (job: { readonly id: CronJobId }) {
    for (const run of yield* runsOf(job)) yield* runs.cancel(run.id, new Date())
  })
  const nextOf = ({ id }: { readonly id: CronJobId }) =>
    Effect.map(repo.find(id), (job) => Option.getOrThrow(job).nextFireAt?.toISOString() ?? null)
  return { endRuns, fires, jobs, ledger, make, nextOf, repo, runs, runsOf, user, workspaceId }
})
