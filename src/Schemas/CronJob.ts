import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { AgentReference } from "./Agent.ts"
import { AgentId, CronJobId, ProjectId, UserId, WorkspaceId } from "./Ids.ts"
import { Policy } from "./Policy.ts"
import { text } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"

const name = text(1, 100)
const description = text(0, 500)
const schedule = text(1, 100)
const prompt = text(1, 10_000)
const timezone = text(1, 50)

/** The time zone of a job that names none (specification, Cron job). */
export const defaultTimezone = "UTC"

export const CronJob = Schema.Struct({
  id: CronJobId,
  workspaceId: WorkspaceId,
  projectId: Schema.NullOr(ProjectId),
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  schedule: Schema.String,
  prompt: Schema.String,
  timezone: Schema.String,
  isActive: Schema.Boolean,
  agentId: Schema.NullOr(AgentId),
  agent: Schema.NullOr(AgentReference),
  createdAt: Timestamp,
  updatedAt: Timestamp
}).annotate({ identifier: "CronJob" })
export type CronJob = typeof CronJob.Type

export const CreateCronJob = Schema.Struct({
  workspaceId: WorkspaceId,
  name,
  schedule,
  prompt,
  projectId: Schema.optionalKey(Schema.NullOr(ProjectId)),
  agentId: Schema.optionalKey(Schema.NullOr(AgentId)),
  description: Schema.optionalKey(Schema.NullOr(description)),
  timezone: Schema.optionalKey(timezone)
}).annotate({ identifier: "CreateCronJob" })
export type CreateCronJob = typeof CreateCronJob.Type

/** Specification, PATCH /api/cron-jobs/{id}: `null` clears `description` and `agentId`. */
export const UpdateCronJob = Schema.Struct({
  name: Schema.optionalKey(name),
  description: Schema.optionalKey(Schema.NullOr(description)),
  agentId: Schema.optionalKey(Schema.NullOr(AgentId)),
  schedule: Schema.optionalKey(schedule),
  prompt: Schema.optionalKey(prompt),
  timezone: Schema.optionalKey(timezone),
  isActive: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "UpdateCronJob" })
export type UpdateCronJob = typeof UpdateCronJob.Type

/** Without an offset a time would be one of the time zone of the node; a day alone begins in UTC. */
const instantText = /^[+-]?\d{4,6}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/u

const instant = Schema.String.check(
  Schema.makeFilter((value: string) =>
    instantText.test(value) && !Number.isNaN(Date.parse(value))
      ? undefined
      : "must be a time stamp with its offset, like 2026-11-20T08:00:00.000Z"
  )
).pipe(Schema.decodeTo(Schema.Date, SchemaTransformation.dateFromString))

export const PreviewSchedule = Schema.Struct({
  schedule,
  timezone: Schema.optionalKey(timezone),
  after: Schema.optionalKey(instant),
  count: Schema.optionalKey(
    Schema.Int.check(
      Schema.makeFilter(
        (value: number) => (value >= 1 && value <= 100 ? undefined : "must be a whole number from 1 to 100"),
        { toJsonSchema: () => ({ minimum: 1, maximum: 100 }) }
      )
    )
  )
}).annotate({ identifier: "PreviewSchedule" })
export type PreviewSchedule = typeof PreviewSchedule.Type

/** How many instants a preview shows when the caller does not say. */
export const defaultPreviewCount = 5

/** Why a job was stopped: its maker is no member any more, or may not sign in. */
export const StopReason = Schema.Literals(["maker_left", "maker_disabled"])
export type StopReason = typeof StopReason.Type

/** Who answers for a job: who made it, took it over, or switched it on when nobody did; null: unknown. */
const maker = {
  createdBy: Schema.NullOr(UserId),
  /** Since when it is off because of its maker. */
  stoppedAt: Schema.NullOr(Timestamp),
  stopReason: Schema.NullOr(StopReason)
}

/**
 * A job as it is stored: with the next instant at which it is due, none while it is switched off, and its policy, none
 * where that says nothing.
 */
export const StoredCronJob = Schema.Struct({
  ...CronJob.fields,
  ...maker,
  nextFireAt: Schema.NullOr(Timestamp),
  policy: Schema.NullOr(Policy)
})
export type StoredCronJob = typeof StoredCronJob.Type

export const toCronJob = (stored: StoredCronJob): CronJob => {
  const {
    createdBy: _,
    nextFireAt: _next,
    policy: _policy,
    stopReason: _reason,
    stoppedAt: _at,
    ...job
  } = stored
  return job
}

export const CronJobMaker = Schema.Struct({
  ...maker,
  createdBy: Schema.NullOr(
    Schema.Struct({
      userId: UserId,
      email: Schema.NullOr(Schema.String).annotate({ description: "Null: the user is gone." })
    })
  ),
  isMember: Schema.Boolean.annotate({ description: "Whether the maker may use the workspace now." })
}).annotate({ identifier: "CronJobMaker" })
export type CronJobMaker = typeof CronJobMaker.Type

/** Whether a job is off because of its maker. A node of an older version switches on without a word of that. */
export const isStopped = ({ isActive, stoppedAt }: StoredCronJob): boolean => !isActive && stoppedAt !== null

/** `profile` is of the maker; none: that user is gone. */
export const toCronJobMaker = (
  job: StoredCronJob,
  profile: { readonly email: string; readonly isMember: boolean } | undefined
): CronJobMaker => {
  const [stoppedAt, stopReason] = isStopped(job) ? [job.stoppedAt, job.stopReason] : [null, null]
  const createdBy = job.createdBy === null ? null : { userId: job.createdBy, email: profile?.email ?? null }
  return { createdBy, isMember: profile?.isMember ?? false, stoppedAt, stopReason }
}

/** A job that is to be stored: switched on, first due at `nextFireAt`. */
export const newCronJob = (
  input: CreateCronJob,
  given: {
    readonly id: CronJobId
    readonly at: Date
    readonly createdBy: UserId
    readonly nextFireAt: Date | null
  }
): Omit<StoredCronJob, "agent"> => ({
  id: given.id,
  workspaceId: input.workspaceId,
  projectId: input.projectId ?? null,
  name: input.name,
  description: input.description ?? null,
  schedule: input.schedule,
  prompt: input.prompt,
  timezone: input.timezone ?? defaultTimezone,
  isActive: true,
  agentId: input.agentId ?? null,
  createdBy: given.createdBy,
  stoppedAt: null,
  stopReason: null,
  nextFireAt: given.nextFireAt,
  policy: null,
  createdAt: given.at,
  updatedAt: given.at
})

/**
 * What a change does to when a job is due (CONTRACT.md section 6): `countsFromNow` that it is due anew, and
 * `isAsked` that its schedule has to be read for that. What could be read when it was stored may be unreadable now,
 * by a time zone that is no more: it is not read without need.
 */
export const planUpdate = (job: StoredCronJob, patch: UpdateCronJob) => {
  const { isActive, schedule, timezone } = { ...job, ...patch }
  const countsFromNow = schedule !== job.schedule || timezone !== job.timezone || isActive !== job.isActive
  const turnsOn = isActive && !job.isActive
  const isAsked = "schedule" in patch || "timezone" in patch || (countsFromNow && isActive)
  return { countsFromNow, isAsked, isActive, schedule, timezone, turnsOn }
}
