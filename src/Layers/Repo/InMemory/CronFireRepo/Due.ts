import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { backfillLookMillis, type DueJob, type NextDue } from "../../../../Schemas/CronFire.ts"
import type { StoredCronJob } from "../../../../Schemas/CronJob.ts"
import { isTerminal } from "../../../../Schemas/Run.ts"
import type { CronFireRepo } from "../../../../Services/CronFireRepo.ts"
import { reachedIn } from "../Budgets.ts"
import { type Moment, moment } from "../RunRepo/Moment.ts"
import type { Tables } from "../Store.ts"

const isBusy = ({ runs }: Tables, id: string) =>
  Array.from(runs.values()).some((run) => run.cronJobId === id && !isTerminal(run.status))

/** A job with one of its slots, as a claim tells of it. */
export const dueJob = (
  tables: Tables,
  job: Omit<StoredCronJob, "agent">,
  slot: Date,
  at: Moment
): DueJob => ({
  id: job.id,
  workspaceId: job.workspaceId,
  projectId: job.projectId,
  agentId: job.agentId,
  prompt: job.prompt,
  schedule: job.schedule,
  timezone: job.timezone,
  slot,
  isBusy: isBusy(tables, job.id),
  agentIsActive: job.agentId === null || tables.agents.get(job.agentId)?.isActive === true,
  isSpent: reachedIn(tables, job.workspaceId, at) !== undefined,
  policy: job.policy,
  agentPolicy: job.agentId === null ? null : (tables.agents.get(job.agentId)?.policy ?? null)
})

/** The jobs of which slots wait to be made up, those to be looked at first before the others. */
export const lookedAt = (tables: Tables, now: Date) =>
  Array.from(tables.cronBackfillLooks)
    .map(([id, { at, wasBusy }]) => ({ id, at: wasBusy && at > now && !isBusy(tables, id) ? now : at }))
    .sort((a, b) => a.at.getTime() - b.at.getTime() || (a.id < b.id ? -1 : 1))

/** Which jobs are due, and when the next will be. */
export const make = (tables: Tables): Pick<CronFireRepo["Service"], "untilDue" | "claim"> => {
  const awaited = () =>
    Array.from(tables.cronJobs.values())
      .flatMap((job) => (job.nextFireAt === null ? [] : [{ job, slot: job.nextFireAt }]))
      .sort((a, b) => a.slot.getTime() - b.slot.getTime() || (a.job.id < b.job.id ? -1 : 1))

  return {
    untilDue: Effect.map(moment, ({ at }) => {
      const slot = awaited()[0]
      const look = lookedAt(tables, at)[0]
      const millisTo = (then: Date) => then.getTime() - at.getTime()
      const next: ReadonlyArray<NextDue> = [
        ...(slot === undefined ? [] : [{ what: "slot", millis: millisTo(slot.slot) } as const]),
        ...(look === undefined
          ? []
          : [{ what: "backfill", millis: Math.min(millisTo(look.at), backfillLookMillis) } as const])
      ]
      const [first] = next.toSorted((a, b) => Math.max(a.millis, 0) - Math.max(b.millis, 0))
      return Option.fromUndefinedOr(first)
    }),
    claim: (limit) =>
      Effect.map(moment, (at) => ({
        at: at.at,
        jobs: awaited()
          .filter(({ slot }) => slot <= at.at)
          .slice(0, limit)
          .map(({ job, slot }) => dueJob(tables, job, slot, at))
      }))
  }
}
