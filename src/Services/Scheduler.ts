import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Unavailable } from "../Schemas/Errors.ts"

/**
 * Fires cron jobs (CONTRACT.md section 6). It runs by itself on every node, and there is no leader: each step is
 * one transaction, which any number of nodes may do at the same time without handling a slot twice.
 */
export class Scheduler extends Context.Service<
  Scheduler,
  {
    /**
     * Handles the newest slot of up to one batch of due jobs: it is in the ledger, its run is stored, and the job
     * is due again, or none of that. Of the slots missed before it a few are recorded at once, and the rest is
     * left to `recordMissed`. How many jobs were handled; none: no more were due, or others hold them.
     */
    readonly fireDue: Effect.Effect<number, Unavailable>
    /**
     * Looks at up to one batch of jobs of which slots wait to be made up, and has the oldest of each run where no run of
     * the job is active: it is in the ledger with its run, and waits no longer, or none of that. How many jobs were
     * looked at; none as above.
     */
    readonly backfillDue: Effect.Effect<number, Unavailable>
    /** Records one batch of the missed slots of one job. False: nothing was left to record. */
    readonly recordMissed: Effect.Effect<boolean, Unavailable>
    /** Removes one batch of what the ledger keeps no longer. False: nothing more was that old. */
    readonly forget: Effect.Effect<boolean, Unavailable>
  }
>()("agentd/Services/Scheduler") {}
