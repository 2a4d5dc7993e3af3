import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Backlog, DueJob, FireOutcome, NextDue, StoredFire } from "../Schemas/CronFire.ts"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { CronJobId, RunId } from "../Schemas/Ids.ts"
import type { StoredRun } from "../Schemas/Run.ts"

/** A slot that is to be written into the ledger, with the run that it makes. */
export interface NewFire {
  readonly cronJobId: CronJobId
  readonly scheduledAt: Date
  readonly outcome: FireOutcome
  readonly run: StoredRun | null
}

/** What is written of due jobs in one transaction. */
export interface Fires {
  readonly firedAt: Date
  readonly slots: ReadonlyArray<NewFire>
  readonly backlogs: ReadonlyArray<Backlog>
  /** When each job is due again; null: never. */
  readonly next: ReadonlyArray<{ readonly cronJobId: CronJobId; readonly nextFireAt: Date | null }>
}

/**
 * The slots of cron jobs: which are due, and the ledger of those that were handled. A job and an instant are
 * in the ledger at most once. What is due, and since when, is by the clock of the store.
 */
export class CronFireRepo extends Context.Service<
  CronFireRepo,
  {
    /** Now, by the clock of the store. */
    readonly now: Effect.Effect<Date, Unavailable>
    /**
     * Milliseconds until the earliest job is due, 0 or less if one is, or until what waits to be made up is looked at: at
     * most `backfillLookMillis`. A slot that is due comes before that. None if there is neither.
     */
    readonly untilDue: Effect.Effect<Option.Option<NextDue>, Unavailable>
    /**
     * Up to `limit` due jobs, the longest due first, and the moment. Until the surrounding transaction ends,
     * nobody else gets or changes them, nor switches their agents on or off. A job that somebody else has
     * locked, or whose agent, is left out and stays due.
     */
    readonly claim: (
      limit: number
    ) => Effect.Effect<{ readonly at: Date; readonly jobs: ReadonlyArray<DueJob> }, Unavailable>
    /**
     * Writes slots with their runs, what is still to be recorded, and when the jobs are due next: in the
     * transaction that claimed the jobs. A slot that is in the ledger already makes no run. The ids of the runs
     * that were made.
     */
    readonly record: (fires: Fires) => Effect.Effect<ReadonlyArray<RunId>, Unavailable>
    /**
     * A backlog of missed slots, and the moment; nobody else gets it before the surrounding transaction ends.
     * Slots older than `keepMillis` are left out of it.
     */
    readonly claimBacklog: (
      keepMillis: number
    ) => Effect.Effect<Option.Option<{ readonly at: Date; readonly backlog: Backlog }>, Unavailable>
    /** Records missed slots of a claimed backlog and leaves the rest of it, in the transaction that claimed it. */
    readonly recordMissed: (
      backlog: Backlog,
      missed: { readonly at: Date; readonly slots: ReadonlyArray<Date>; readonly rest: Backlog | null }
    ) => Effect.Effect<void, Unavailable>
    /** The ledger of a job, newest slot first. */
    readonly list: (filter: {
      readonly cronJobId: CronJobId
      readonly limit: number
      readonly offset: number
    }) => Effect.Effect<ReadonlyArray<StoredFire>, Unavailable>
    /** Removes up to `limit` of the oldest slots that are older than `keepMillis`, and says how many. */
    readonly forget: (keepMillis: number, limit: number) => Effect.Effect<number, Unavailable>
  }
>()("agentd/Services/CronFireRepo") {}
