import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { StoredCronJob } from "../../../../Schemas/CronJob.ts"
import { isTerminal } from "../../../../Schemas/Run.ts"
import type { CronFireRepo } from "../../../../Services/CronFireRepo.ts"
import { now } from "../../../../Services/CurrentTime.ts"
import type { Tables } from "../Store.ts"

/** Which jobs are due, and when the next will be. */
export const make = ({
  agents,
  cronJobs,
  runs
}: Tables): Pick<CronFireRepo["Service"], "untilDue" | "claim"> => {
  const awaited = () =>
    Array.from(cronJobs.values())
      .flatMap((job) => (job.nextFireAt === null ? [] : [{ ...job, slot: job.nextFireAt }]))
      .sort((a, b) => a.slot.getTime() - b.slot.getTime() || (a.id < b.id ? -1 : 1))

  const isBusy = (job: Pick<StoredCronJob, "id">) =>
    Array.from(runs.values()).some((run) => run.cronJobId === job.id && !isTerminal(run.status))

  return {
    untilDue: Effect.map(Clock.currentTimeMillis, (at) =>
      Option.map(Option.fromNullishOr(awaited()[0]), ({ slot }) => slot.getTime() - at)
    ),
    claim: (limit) =>
      Effect.map(now, (at) => ({
        at,
        jobs: awaited()
          .filter(({ slot }) => slot <= at)
          .slice(0, limit)
          .map((job) => ({
            id: job.id,
            workspaceId: job.workspaceId,
            projectId: job.projectId,
            agentId: job.agentId,
            prompt: job.prompt,
            schedule: job.schedule,
            timezone: job.timezone,
            slot: job.slot,
            isBusy: isBusy(job),
            agentIsActive: job.agentId === null || agents.get(job.agentId)?.isActive === true,
            policy: job.policy,
            agentPolicy: job.agentId === null ? null : (agents.get(job.agentId)?.policy ?? null)
          }))
      }))
  }
}
