import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import type { CronJob, StopReason, StoredCronJob, UpdateCronJob } from "../Schemas/CronJob.ts"
import type { ReferenceGone, Unavailable } from "../Schemas/Errors.ts"
import type { CronJobId, UserId, WorkspaceId } from "../Schemas/Ids.ts"
import type { Policy } from "../Schemas/Policy.ts"
import type { ByPlan } from "../Schemas/Quotas.ts"
import type { Pages } from "./Pages.ts"

/** Cron jobs, each with the name of its agent. */
export class CronJobRepo extends Context.Service<
  CronJobRepo,
  Pages<CronJob> & {
    /**
     * Stores the job; `agent` follows from `agentId`. Returns it as it will be read. `ReferenceGone` also of `createdBy`:
     * no member, or one who is disabled; whoever takes one out or disables one waits until this one is stored. `most` as
     * in `AgentRepo`.
     */
    readonly insert: (
      job: Omit<StoredCronJob, "agent">,
      most?: ByPlan
    ) => Effect.Effect<StoredCronJob, PlanLimitExceeded | ReferenceGone | Unavailable>
    readonly find: (id: CronJobId) => Effect.Effect<Option.Option<StoredCronJob>, Unavailable>
    /** As `find`, and nobody else changes the job before the surrounding transaction ends. */
    readonly lock: (id: CronJobId) => Effect.Effect<Option.Option<StoredCronJob>, Unavailable>
    /** Atomic: absent fields keep what they have. None when there is no such job. */
    readonly update: (
      id: CronJobId,
      patch: UpdateCronJob &
        Partial<Pick<StoredCronJob, "createdBy" | "nextFireAt" | "stopReason" | "stoppedAt">>,
      at: Date
    ) => Effect.Effect<Option.Option<StoredCronJob>, ReferenceGone | Unavailable>
    /** As that of `AgentRepo`. When the job is due stays as it is. */
    readonly setPolicy: (
      id: CronJobId,
      policy: { readonly before?: Policy | null; readonly after: Policy | null },
      at: Date
    ) => Effect.Effect<boolean, Unavailable>
    /**
     * Switches off what is on of the jobs that a user answers for, in a workspace or null in all. A job that is being
     * fired is waited for, and no slot comes after it, also none of those that wait to be made up, of all jobs of the
     * user. To be called when the user is taken out: jobs are locked last.
     */
    readonly stopOf: (
      maker: { readonly userId: UserId; readonly workspaceId: WorkspaceId | null },
      reason: StopReason,
      at: Date
    ) => Effect.Effect<void, Unavailable>
    /**
     * It is gone at once with its ledger, and its runs have none; both are let go of bit by bit (`RemovalRepo`). False
     * when there is no such job.
     */
    readonly remove: (id: CronJobId) => Effect.Effect<boolean, Unavailable>
  }
>()("agentd/Services/CronJobRepo") {}
