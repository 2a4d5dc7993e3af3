import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { BackfillRange, CronBackfillState, DueBackfill } from "../Schemas/CronBackfill.ts"
import type { Backlog } from "../Schemas/CronFire.ts"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { CronJobId, RunId } from "../Schemas/Ids.ts"
import type { ByPlan } from "../Schemas/Quotas.ts"
import type { StoredRun } from "../Schemas/Run.ts"

/** What became of a job that was looked at: its slot gets `run`, or null, nothing. */
export interface LookedAt {
  readonly cronJobId: CronJobId
  readonly scheduledAt: Date
  readonly run: StoredRun | null
  /** When the job is looked at again, if slots of it still wait. */
  readonly again: Date
}

/**
 * The slots of cron jobs that wait to be made up (CONTRACT.md section 11). The ledger says whether a slot has had its
 * run: one that has never waits, and gets none.
 */
export class CronBackfillRepo extends Context.Service<
  CronBackfillRepo,
  {
    /** What of a job was missed and is not in the ledger yet. */
    readonly backlogs: (id: CronJobId) => Effect.Effect<ReadonlyArray<Backlog>, Unavailable>
    /** The first `limit` slots of a range that the ledger has as missed, oldest first. */
    readonly missed: (
      id: CronJobId,
      range: BackfillRange,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Date>, Unavailable>
    /**
     * Lets slots wait, but those that wait already, that had a run, and that are older than `keepMillis`. Within the
     * transaction that has locked the job. How many are new, and how many wait then.
     */
    readonly queue: (
      id: CronJobId,
      slots: ReadonlyArray<Date>,
      keepMillis: number
    ) => Effect.Effect<{ readonly queued: number; readonly waiting: number }, Unavailable>
    /** Forgets what waits; a run that was made stays. */
    readonly cancel: (id: CronJobId) => Effect.Effect<void, Unavailable>
    readonly state: (id: CronJobId) => Effect.Effect<CronBackfillState, Unavailable>
    /**
     * Up to `limit` jobs of which slots wait and that are to be looked at by now, but those whose schedule is due, which
     * comes first; and the moment. Locked as by `CronFireRepo.claim`. `most`: how many runs may wait in a workspace.
     */
    readonly claim: (
      limit: number,
      most: ByPlan
    ) => Effect.Effect<{ readonly at: Date; readonly jobs: ReadonlyArray<DueBackfill> }, Unavailable>
    /**
     * Writes what became of claimed jobs, in the transaction that claimed them: a slot with its run is `backfilled` in
     * the ledger and waits no longer. One that had a run meanwhile only waits no longer. The ids of the runs that were
     * made.
     */
    readonly record: (
      at: Date,
      looked: ReadonlyArray<LookedAt>
    ) => Effect.Effect<ReadonlyArray<RunId>, Unavailable>
  }
>()("agentd/Services/CronBackfillRepo") {}
