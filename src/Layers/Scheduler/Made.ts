import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type { AuditedChange } from "../../Schemas/Audit.ts"
import { type DueJob, type FireOutcome, runOfJob } from "../../Schemas/CronFire.ts"
import type { CronJobId, RunId } from "../../Schemas/Ids.ts"
import type { StoredRun } from "../../Schemas/Run.ts"
import { auditedEach } from "../../Services/Audited.ts"
import { Ids } from "../../Services/Ids.ts"
import { cronSlots } from "../../Services/Metrics.ts"

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

/** The run of a slot, whenever that was. */
export const makeRunOf = Effect.map(
  Ids,
  (ids) => (job: DueJob, at: Date) => Effect.map(ids.make<RunId>("run"), (id) => runOfJob(job, id, at))
)

export const countSlots = (outcome: FireOutcome, count: number) =>
  Metric.update(Metric.withAttributes(cronSlots, { outcome }), count)
