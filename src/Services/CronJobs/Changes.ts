import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import {
  isStopped,
  planUpdate,
  type StoredCronJob,
  toCronJob,
  type UpdateCronJob
} from "../../Schemas/CronJob.ts"
import { notFound, ReferenceGone } from "../../Schemas/Errors.ts"
import type { CronJobId, UserId } from "../../Schemas/Ids.ts"
import type { User } from "../../Schemas/User.ts"
import { Access } from "../Access.ts"
import { CronFireRepo } from "../CronFireRepo.ts"
import { CronJobRepo } from "../CronJobRepo.ts"
import { now } from "../CurrentTime.ts"
import { orUnknown, References } from "../References.ts"
import { Signals } from "../Signals.ts"
import { Transaction } from "../Transaction.ts"
import { WorkspaceRepo } from "../WorkspaceRepo.ts"
import { instants } from "./Instants.ts"

/** Who is to answer for a job is no member, or is being taken out at this moment. */
export const isMakerGone = (error: unknown): boolean =>
  error instanceof ReferenceGone && error.field === "createdBy"

/** What changes cron jobs that are there. Nobody else changes one meanwhile. */
export const makeChanges = Effect.gen(function* () {
  const access = yield* Access
  const fires = yield* CronFireRepo
  const references = yield* References
  const repo = yield* CronJobRepo
  const signals = yield* Signals
  const transaction = yield* Transaction
  const workspaces = yield* WorkspaceRepo

  /** Who answers for a job that is switched on: who did so, unless that is no member any more or unknown. */
  const makerOf = Effect.fnUntraced(function* ({ createdBy, workspaceId }: StoredCronJob, user: User) {
    if (createdBy === null || createdBy === user.id) return user.id
    const found = yield* workspaces.profile(workspaceId, createdBy)
    return Option.isSome(found) && found.value.isMember ? createdBy : user.id
  })

  /** Changes a job that is locked; who switches it on by that may come to answer for it. */
  const change = Effect.fnUntraced(function* (
    job: StoredCronJob,
    patch: UpdateCronJob & { readonly createdBy?: UserId },
    user: User
  ) {
    const { countsFromNow, isActive, isAsked, schedule, timezone, turnsOn } = planUpdate(job, patch)
    const [next] = isAsked ? yield* instants(schedule, timezone, yield* fires.now, 1) : []
    const nextFireAt = isActive ? (next ?? null) : null
    const on = turnsOn ? { createdBy: yield* makerOf(job, user), stoppedAt: null, stopReason: null } : {}
    const changes = { ...on, ...patch, ...(countsFromNow ? { nextFireAt } : {}) }
    const updated = yield* repo.update(job.id, changes, yield* now)
    return Option.isSome(updated) ? toCronJob(updated.value) : yield* notFound("cron job")
  })

  /** Asked again, it is known who is there. */
  const changing = <A, E>(work: Effect.Effect<A, E>) =>
    transaction
      .atomically(work)
      .pipe(
        Effect.retry({ while: isMakerGone, times: 1 }),
        orUnknown,
        Effect.tap(signals.publish({ type: "cron" }))
      )

  return {
    update: Effect.fn("CronJobs.update")((user: User, id: CronJobId, patch: UpdateCronJob) =>
      changing(
        Effect.gen(function* () {
          const job = yield* access.visible(user, "cron job", yield* repo.lock(id))
          yield* references.resolve(job.workspaceId, { agentId: patch.agentId })
          return yield* change(job, patch, user)
        })
      )
    ),
    takeOver: Effect.fn("CronJobs.takeOver")((user: User, id: CronJobId) =>
      changing(
        Effect.gen(function* () {
          const job = yield* access.owned(user, "cron job", yield* repo.lock(id))
          const createdBy = user.id
          return yield* change(job, isStopped(job) ? { createdBy, isActive: true } : { createdBy }, user)
        })
      )
    )
  }
})
