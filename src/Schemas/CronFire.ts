import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { AgentId, CronJobId, ProjectId, RunId, WorkspaceId } from "./Ids.ts"
import { Policy, resolvePolicy } from "./Policy.ts"
import { type NewRun, newRun } from "./Run.ts"
import { type Instants, instantsOf } from "./Schedule.ts"
import { Timestamp } from "./Timestamp.ts"

/** What became of a slot (CONTRACT.md section 6, and 11 of the last two). */
export const FireOutcome = Schema.Literals([
  "fired",
  "overlap",
  "missed",
  "agent_inactive",
  "budget_exceeded",
  "backfilled"
])
export type FireOutcome = typeof FireOutcome.Type

/** A slot in the ledger; `firedAt` is when it was handled, by the clock of the store. */
export const StoredFire = Schema.Struct({
  scheduledAt: Timestamp,
  firedAt: Timestamp,
  outcome: FireOutcome,
  runId: Schema.NullOr(RunId)
})
export type StoredFire = typeof StoredFire.Type

export const CronFire = Schema.Struct({
  ...StoredFire.fields,
  lagMs: Schema.Int.annotate({ description: "Milliseconds from `scheduledAt` to `firedAt`." })
}).annotate({ identifier: "CronFire" })
export type CronFire = typeof CronFire.Type

export const toCronFire = (fire: StoredFire): CronFire => ({
  ...fire,
  lagMs: fire.firedAt.getTime() - fire.scheduledAt.getTime()
})

/** A job whose next slot has come, as it is in the transaction that handles it. */
export const DueJob = Schema.Struct({
  id: CronJobId,
  workspaceId: WorkspaceId,
  projectId: Schema.NullOr(ProjectId),
  agentId: Schema.NullOr(AgentId),
  prompt: Schema.String,
  schedule: Schema.String,
  timezone: Schema.String,
  slot: Timestamp,
  /** Whether a run of this job is PENDING, RUNNING or WAITING_APPROVAL. */
  isBusy: Schema.Boolean,
  agentIsActive: Schema.Boolean,
  /** Whether a limit of the month of its workspace is reached. */
  isSpent: Schema.Boolean,
  /** Of the job, and of its agent. */
  policy: Schema.NullOr(Policy),
  agentPolicy: Schema.NullOr(Policy)
})
export type DueJob = typeof DueJob.Type

/** What is due next, or was: a slot of a schedule, or the look at what waits to be made up. */
export const NextDue = Schema.Struct({ what: Schema.Literals(["slot", "backfill"]), millis: Schema.Finite })
export type NextDue = typeof NextDue.Type

/** While slots wait to be made up they are looked at that often: not every store tells of the end of a run. */
export const backfillLookMillis = 1_000

/** Missed slots that are still to be recorded: those of the schedule from `from` on, before `until`. */
export const Backlog = Schema.Struct({
  cronJobId: CronJobId,
  schedule: Schema.String,
  timezone: Schema.String,
  from: Timestamp,
  until: Timestamp
})
export type Backlog = typeof Backlog.Type

/** What is to be written of a due job: the newest of its slots, those before it, and when it is due again. */
export interface FirePlan {
  readonly job: DueJob
  readonly slot: Date
  readonly outcome: Exclude<FireOutcome, "backfilled" | "missed">
  readonly backlog: Backlog | null
  /** Null: the schedule has no further instant, and the job is never due again. */
  readonly nextFireAt: Date | null
}

/**
 * What becomes of a due job at `now`: of the slots up to then the newest is handled, and those before it were
 * missed. All follow from the slot that the job was due at, never from `now`: it makes no difference when this
 * is asked, as long as no further slot has come. Takes time by the logarithm of the delay.
 */
export const planFire = (job: DueJob, now: Date): FirePlan => {
  const found = instantsOf(job.schedule, job.timezone, job.slot)
  const next = (after: Date) => (Result.isSuccess(found) ? found.success.next(after) : null)
  const slot = newestSlot({ next }, job.slot, now)
  return {
    job,
    slot,
    outcome: outcomeOf(job),
    backlog:
      slot > job.slot
        ? {
            cronJobId: job.id,
            schedule: job.schedule,
            timezone: job.timezone,
            from: job.slot,
            until: slot
          }
        : null,
    nextFireAt: next(slot)
  }
}

/** An agent that is switched off gets no work, whether or not a former run is still active; then it is about money. */
const outcomeOf = ({ agentId, agentIsActive, isBusy, isSpent }: DueJob): FirePlan["outcome"] => {
  if (agentId !== null && !agentIsActive) return "agent_inactive"
  if (isBusy) return "overlap"
  return isSpent ? "budget_exceeded" : "fired"
}

const second = 1_000

/** The newest instant up to `now`; `slot`, which is one, if none has come since. */
const newestSlot = ({ next }: Instants, slot: Date, now: Date): Date => {
  const comesAfter = (at: number): Date | null => {
    const found = next(new Date(at))
    return found !== null && found <= now ? found : null
  }
  let newest = comesAfter(slot.getTime())
  if (newest === null) return slot
  // Nothing comes after `high`; the way to it is halved, in whole seconds as slots are.
  for (let high = now.getTime(); high > newest.getTime(); ) {
    const low = newest.getTime()
    const middle = low + Math.floor((high - low) / second / 2) * second
    const found = comesAfter(middle)
    if (found === null) high = middle
    else newest = found
  }
  return newest
}

/** What of a backlog is kept that long: slots that are older are forgotten. Slots are whole seconds. */
export const keptBacklog = (backlog: Backlog, at: Date, keepMillis: number): Backlog => {
  const oldest = Math.floor((at.getTime() - keepMillis) / second) * second
  return { ...backlog, from: new Date(Math.max(backlog.from.getTime(), oldest)) }
}

/** The first `limit` slots of a backlog, which were missed, and what is left of it. */
export const planBacklog = (
  backlog: Backlog,
  limit: number
): { readonly slots: ReadonlyArray<Date>; readonly rest: Backlog | null } => {
  const found = instantsOf(backlog.schedule, backlog.timezone, backlog.from)
  const slots: Array<Date> = []
  const next = (after: Date) => (Result.isSuccess(found) ? found.success.next(after) : null)
  let at = next(new Date(backlog.from.getTime() - 1))
  for (; at !== null && at < backlog.until && slots.length < limit; at = next(at)) slots.push(at)
  return { slots, rest: at !== null && at < backlog.until ? { ...backlog, from: at } : null }
}

/** The run that a job makes at `at`, as a task without any choice of its own. */
export const runOfJob = (
  job: Pick<DueJob, "id" | "workspaceId" | "projectId" | "agentId" | "prompt" | "policy" | "agentPolicy">,
  id: RunId,
  at: Date,
  traceparent: string | null = null
): NewRun =>
  newRun({
    id,
    workspaceId: job.workspaceId,
    projectId: job.projectId,
    agentId: job.agentId,
    cronJobId: job.id,
    prompt: job.prompt,
    ...resolvePolicy({ job: job.policy, agent: job.agentPolicy }),
    traceparent,
    createdAt: at
  })
