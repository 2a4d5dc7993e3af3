import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type { AuditedChange } from "../../Schemas/Audit.ts"
import { type DueJob, type FireOutcome, runOfJob } from "../../Schemas/CronFire.ts"
import type { CronJobId, RunId } from "../../Schemas/Ids.ts"
import type { StoredRun } from "../../Schemas/Run.ts"
import { auditedEach } from "../../Services/Audited.ts"
import { Ids } from "../../Services/Ids.ts"
import { cronSlots } from "../../Services/Metrics.ts"
import { spanned, traceparent } from "../../Services/Telemetry.ts"

/** What a slot has made: its run, if it has one. */
interface Made {
  readonly cronJobId: CronJobId
  readonly run: StoredRun | null
}

/** Has the runs that slots make told of in the audit log. */
export const withEntries = (slots: ReadonlyArray<Made>) => auditedEach(slots.flatMap(entryOf))

const entryOf = ({ cronJobId, run }: Made): ReadonlyArray<AuditedChange> =>
  run === null
    ? []
    : [
        {
          action: "run.create",
          scope: { workspaceId: run.workspaceId },
          targetId: run.id,
          actor: { cronJobId }
        }
      ]

/** The run of a slot, whenever that was. Its trace begins with the slot, where spans are made. */
export const makeRunOf = Effect.map(
  Ids,
  (ids) => (job: DueJob, at: Date, scheduledAt: Date) =>
    Effect.flatMap(ids.make<RunId>("run"), (id) =>
      Effect.map(traceparent, (made) => runOfJob(job, id, at, made)).pipe(
        spanned(() => ({
          name: "cron.fire",
          parent: null,
          attributes: {
            "agentd.run.id": id,
            "agentd.workspace.id": job.workspaceId,
            "agentd.cron_job.id": job.id,
            "agentd.cron.scheduled_at": scheduledAt.toISOString()
          }
        }))
      )
    )
)

export const countSlots = (outcome: FireOutcome, count: number) =>
  Metric.update(Metric.withAttributes(cronSlots, { outcome }), count)
