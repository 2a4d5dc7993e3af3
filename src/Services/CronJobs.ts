import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type { AgentInactive } from "../Schemas/Agent.ts"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import type { BackfillCronJob, CronBackfill, CronBackfillState } from "../Schemas/CronBackfill.ts"
import { type CronFire, toCronFire } from "../Schemas/CronFire.ts"
import {
  type CreateCronJob,
  type CronJob,
  type CronJobMaker,
  defaultPreviewCount,
  defaultTimezone,
  newCronJob,
  type PreviewSchedule,
  toCronJob,
  toCronJobMaker,
  type UpdateCronJob
} from "../Schemas/CronJob.ts"
import {
  type Forbidden,
  type InvalidInput,
  type NotFound,
  notFound,
  ReferenceGone,
  type Unavailable
} from "../Schemas/Errors.ts"
import type { CronJobId } from "../Schemas/Ids.ts"
import { nextInstants } from "../Schemas/Schedule.ts"
import type { User } from "../Schemas/User.ts"
import { Access, notMember } from "./Access.ts"
import { audited } from "./Audited.ts"
import { CronFireRepo } from "./CronFireRepo.ts"
import { CronJobRepo } from "./CronJobRepo.ts"
import { makeBackfills } from "./CronJobs/Backfills.ts"
import { makeChanges } from "./CronJobs/Changes.ts"
import { instants } from "./CronJobs/Instants.ts"
import { now } from "./CurrentTime.ts"
import { Ids } from "./Ids.ts"
import * as Listing from "./Listing.ts"
import type { WorkspaceFilter } from "./Pages.ts"
import { orUnknown, References } from "./References.ts"
import { Settings } from "./Settings.ts"
import { Signals } from "./Signals.ts"
import { WorkspaceRepo } from "./WorkspaceRepo.ts"

/** What a caller does with cron jobs (specification, Cron jobs). */
export class CronJobs extends Context.Service<
  CronJobs,
  {
    /** Refuses a schedule that croner refuses or that never fires, and a time zone that is none. */
    readonly create: (
      user: User,
      input: CreateCronJob
    ) => Effect.Effect<CronJob, Forbidden | InvalidInput | PlanLimitExceeded | Unavailable>
    readonly list: (
      user: User,
      filter: WorkspaceFilter & Listing.PageQuery
    ) => Effect.Effect<Listing.Listing<CronJob>, Forbidden | InvalidInput | Unavailable>
    readonly get: (user: User, id: CronJobId) => Effect.Effect<CronJob, NotFound | Unavailable>
    /** The slots that were handled, newest first. */
    readonly fires: (
      user: User,
      id: CronJobId,
      pages: { readonly limit: number; readonly offset: number }
    ) => Effect.Effect<ReadonlyArray<CronFire>, NotFound | Unavailable>
    /** With its ledger; its runs stay, without a job. */
    readonly remove: (user: User, id: CronJobId) => Effect.Effect<void, NotFound | Unavailable>
    /**
     * Has slots of a range made up (section 11): each gets one run at most, whatever was done before, the oldest first,
     * and the next when no run of the job is active, also while the job is off. Whoever asks the same again has nothing
     * more queued. Refuses a range that has too many slots, that lies in the future, or that the ledger does not keep.
     */
    readonly backfill: (
      user: User,
      id: CronJobId,
      input: BackfillCronJob
    ) => Effect.Effect<CronBackfill, AgentInactive | InvalidInput | NotFound | Unavailable>
    readonly backfillState: (
      user: User,
      id: CronJobId
    ) => Effect.Effect<CronBackfillState, NotFound | Unavailable>
    /** What waits to be made up gets no run; runs that were made go on. Again it changes nothing. */
    readonly cancelBackfill: (user: User, id: CronJobId) => Effect.Effect<void, NotFound | Unavailable>
    /** Who answers for it, and whether it was stopped because of that one. */
    readonly maker: (user: User, id: CronJobId) => Effect.Effect<CronJobMaker, NotFound | Unavailable>
    /**
     * By an owner, who answers for it from now on. What was stopped because of its maker is switched on, counted from
     * now; what somebody switched off stays off.
     */
    readonly takeOver: (
      user: User,
      id: CronJobId
    ) => Effect.Effect<CronJob, Forbidden | InvalidInput | NotFound | Unavailable>
    /**
     * Changing the schedule or time zone, or switching the job on, counts from now (section 6), by the clock of
     * the store. Once this has succeeded, nothing is fired by what the job was before. Whoever switches on a job whose
     * maker is no member any more, or unknown, answers for it from then on.
     */
    readonly update: (
      user: User,
      id: CronJobId,
      patch: UpdateCronJob
    ) => Effect.Effect<CronJob, NotFound | InvalidInput | Unavailable>
    /**
     * The next instants of a schedule, computed by the same function that validates and fires it: as many as asked
     * for, or all that there are before a gap of 60 years or the year 10000.
     */
    readonly preview: (input: PreviewSchedule) => Effect.Effect<ReadonlyArray<Date>, InvalidInput>
  }
>()("agentd/Services/CronJobs") {
  static readonly layer = Layer.effect(
    CronJobs,
    Effect.gen(function* () {
      const access = yield* Access
      const fires = yield* CronFireRepo
      const ids = yield* Ids
      const references = yield* References
      const repo = yield* CronJobRepo
      const { quotas } = yield* Settings
      const signals = yield* Signals
      const workspaces = yield* WorkspaceRepo
      const backfills = yield* makeBackfills
      const changes = yield* makeChanges

      const visible = Effect.fnUntraced(function* (user: User, id: CronJobId) {
        return yield* access.visible(user, "cron job", yield* repo.find(id))
      })

      return CronJobs.of({
        create: Effect.fnUntraced(function* (user, input) {
          yield* access.member(user, input.workspaceId)
          yield* references.resolve(input.workspaceId, input)
          const at = yield* now
          const timezone = input.timezone ?? defaultTimezone
          const [nextFireAt] = yield* instants(input.schedule, timezone, yield* fires.now, 1)
          const id = yield* ids.make<CronJobId>("cronJob")
          const made = newCronJob(input, { id, at, createdBy: user.id, nextFireAt: nextFireAt ?? null })
          const inserted = repo.insert(made, quotas.cronJobs).pipe(audited("cron_job.create", made))
          const job = yield* orUnknown(Effect.catchIf(inserted, isMakerGone, () => notMember))
          yield* signals.publish({ type: "cron" })
          return toCronJob(job)
        }),
        get: Effect.fnUntraced(function* (user, id) {
          return toCronJob(yield* visible(user, id))
        }),
        fires: Effect.fnUntraced(function* (user, id, pages) {
          yield* visible(user, id)
          return (yield* fires.list({ ...pages, cronJobId: id })).map(toCronFire)
        }),
        remove: Effect.fnUntraced(function* (user, id) {
          const job = yield* visible(user, id)
          if (!(yield* repo.remove(id).pipe(audited("cron_job.delete", job))))
            return yield* notFound("cron job")
        }),
        list: Effect.fnUntraced(function* (user, filter) {
          yield* access.member(user, filter.workspaceId)
          yield* references.resolve(filter.workspaceId, { projectId: filter.projectId })
          return yield* Listing.ofPages(repo, filter, filter)
        }),
        maker: Effect.fnUntraced(function* (user, id) {
          const job = yield* visible(user, id)
          if (job.createdBy === null) return toCronJobMaker(job, undefined)
          const profile = yield* workspaces.profile(job.workspaceId, job.createdBy)
          return toCronJobMaker(job, Option.getOrUndefined(profile))
        }),
        ...backfills,
        ...changes,
        preview: Effect.fnUntraced(function* (input) {
          const after = input.after ?? (yield* now)
          const { count = defaultPreviewCount, schedule, timezone = defaultTimezone } = input
          const found = [...(yield* instants(schedule, timezone, after, Math.min(count, portion)))]
          for (let last = found.at(-1); last !== undefined && found.length < count; ) {
            yield* Effect.yieldNow
            const left = Math.min(count - found.length, portion)
            const more = Result.getOrElse(nextInstants(schedule, timezone, last, left), () => [])
            found.push(...more)
            last = more.at(-1)
          }
          return found
        })
      })
    })
  )
}

/** A hundred instants of a rare schedule take some 130 ms to compute: others have their turn in between. */
const portion = 10

/** Taken out behind the check of the request. */
const isMakerGone = (error: unknown): boolean => error instanceof ReferenceGone && error.field === "createdBy"
