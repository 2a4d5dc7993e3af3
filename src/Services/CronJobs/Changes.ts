import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import {
  isStopped,
  planUpdate,
  type StoredCronJob,
  toCronJob,
  type UpdateCronJob
} from "../../Schemas/CronJob.ts"
import { notFound, Unavailable } from "../../Schemas/Errors.ts"
import type { CronJobId, UserId } from "../../Schemas/Ids.ts"
import type { User } from "../../Schemas/User.ts"
import { Access } from "../Access.ts"
import { audited } from "../Audited.ts"
import { CronFireRepo } from "../CronFireRepo.ts"
import { CronJobRepo } from "../CronJobRepo.ts"
import { now } from "../CurrentTime.ts"
import { orUnknown, References } from "../References.ts"
import { Signals } from "../Signals.ts"
import { Transaction } from "../Transaction.ts"
import { WorkspaceRepo } from "../WorkspaceRepo.ts"
import { instants } from "./Instants.ts"

/** Somebody else came to answer for the job between two looks at it. */
class MakerChanged extends Data.TaggedError("MakerChanged") {}

/** A job that is locked, and who answers for it when the caller switches it on. Members are locked before jobs. */
const makeLockWithMaker = Effect.gen(function* () {
  const repo = yield* CronJobRepo
  const workspaces = yield* WorkspaceRepo

  return Effect.fnUntraced(function* <E>(
    user: User,
    id: CronJobId,
    check: (found: Option.Option<StoredCronJob>) => Effect.Effect<StoredCronJob, E>
  ) {
    const seen = yield* check(yield* repo.find(id))
    const members = yield* workspaces.lockMembers(
      seen.workspaceId,
      seen.createdBy === null ? [user.id] : [user.id, seen.createdBy]
    )
    if (!members.includes(user.id)) return yield* notFound("cron job")
    const job = yield* check(yield* repo.lock(id))
    if (job.createdBy !== seen.createdBy) return yield* new MakerChanged()
    const maker = members.find((userId) => userId === job.createdBy) ?? user.id
    return { job, maker }
  })
})

/** What changes cron jobs that are there. Nobody else changes one meanwhile. */
export const makeChanges = Effect.gen(function* () {
  const access = yield* Access
  const fires = yield* CronFireRepo
  const lockWithMaker = yield* makeLockWithMaker
  const references = yield* References
  const repo = yield* CronJobRepo
  const signals = yield* Signals
  const transaction = yield* Transaction

  const change = Effect.fnUntraced(function* (
    job: StoredCronJob,
    patch: UpdateCronJob & { readonly createdBy?: UserId },
    {
      action,
      maker
    }: { readonly action: "cron_job.update" | "cron_job.take_over"; readonly maker: UserId | null }
  ) {
    const { countsFromNow, isActive, isAsked, schedule, timezone, turnsOn } = planUpdate(job, patch)
    const [next] = isAsked ? yield* instants(schedule, timezone, yield* fires.now, 1) : []
    const nextFireAt = isActive ? (next ?? null) : null
    const on = turnsOn ? { createdBy: maker, stoppedAt: null, stopReason: null } : {}
    const changes = { ...on, ...patch, ...(countsFromNow ? { nextFireAt } : {}) }
    const updated = yield* repo.update(job.id, changes, yield* now).pipe(audited(action, job))
    return Option.isSome(updated) ? toCronJob(updated.value) : yield* notFound("cron job")
  })

  const changing = <A, E>(work: Effect.Effect<A, E>) =>
    transaction.atomically(work).pipe(
      Effect.retry({ while: (error) => error instanceof MakerChanged, times: 3 }),
      Effect.catchIf(
        (error) => error instanceof MakerChanged,
        () => new Unavailable({ error: "others are changing this cron job; try again" })
      ),
      orUnknown,
      Effect.tap(signals.publish({ type: "cron" }))
    )

  return {
    update: Effect.fn("CronJobs.update")((user: User, id: CronJobId, patch: UpdateCronJob) =>
      changing(
        Effect.gen(function* () {
          const check = (found: Option.Option<StoredCronJob>) => access.visible(user, "cron job", found)
          const { job, maker } =
            patch.isActive === true
              ? yield* lockWithMaker(user, id, check)
              : { job: yield* check(yield* repo.lock(id)), maker: null }
          yield* references.resolve(job.workspaceId, { agentId: patch.agentId })
          return yield* change(job, patch, { action: "cron_job.update", maker })
        })
      )
    ),
    takeOver: Effect.fn("CronJobs.takeOver")((user: User, id: CronJobId) =>
      changing(
        Effect.gen(function* () {
          const check = (found: Option.Option<StoredCronJob>) => access.owned(user, "cron job", found)
          const { job } = yield* lockWithMaker(user, id, check)
          const createdBy = user.id
          const taken = isStopped(job) ? { createdBy, isActive: true } : { createdBy }
          return yield* change(job, taken, { action: "cron_job.take_over", maker: createdBy })
        })
      )
    )
  }
})
