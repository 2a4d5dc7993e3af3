import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { DueJob } from "./CronFire.ts"
import { Moment, Timestamp } from "./Timestamp.ts"

/** How many slots of its schedule the range of one backfill may have (CONTRACT.md section 11). */
export const mostSlots = 1_000
/** How many slots of one job may wait, whatever the number of backfills. */
export const mostWaiting = 10_000

export const BackfillCronJob = Schema.Struct({
  from: Moment,
  to: Moment,
  only: Schema.optionalKey(Schema.Literals(["missed", "all"]))
}).annotate({ identifier: "BackfillCronJob" })
export type BackfillCronJob = typeof BackfillCronJob.Type

export const CronBackfill = Schema.Struct({
  slots: Schema.Int.annotate({
    description: "How many slots this call has queued; 0: nothing was left to do."
  })
}).annotate({ identifier: "CronBackfill" })
export type CronBackfill = typeof CronBackfill.Type

export const CronBackfillState = Schema.Struct({
  waiting: Schema.Int.annotate({ description: "How many slots wait for their run." }),
  next: Schema.NullOr(Timestamp).annotate({ description: "The slot that is next; null: none waits." })
}).annotate({ identifier: "CronBackfillState" })
export type CronBackfillState = typeof CronBackfillState.Type

/** From `from` on, before `to`. */
export interface BackfillRange {
  readonly from: Date
  readonly to: Date
}

/** What clocks of callers may be ahead. */
const aheadMillis = 60_000
const dayMillis = 86_400_000

/**
 * The range that is backfilled, or why it is none: slots of the future belong to the schedule, and of those that the
 * ledger keeps no longer nobody knows whether they had a run. `now` is by the clock of the store.
 */
export const backfillRange = (
  { from, to }: BackfillRange,
  { keepMillis, now }: { readonly now: Date; readonly keepMillis: number }
): Result.Result<BackfillRange, string> => {
  if (from >= to) return Result.fail("from: must be before to")
  if (to.getTime() > now.getTime() + aheadMillis) {
    return Result.fail("to: must not be in the future: those slots belong to the schedule")
  }
  if (from.getTime() < now.getTime() - keepMillis) {
    const days = Math.floor(keepMillis / dayMillis)
    return Result.fail(`from: must be within the last ${days} days, as long as the ledger keeps slots`)
  }
  return Result.succeed({ from, to: to < now ? to : now })
}

export const tooManySlots = `from: the range may have at most ${mostSlots} slots of the schedule`
export const tooManyWaiting = `from: at most ${mostWaiting} slots of a cron job may wait for their runs`

/** A job with a slot that waits to be made up, the oldest one, as it is in the transaction that looks at it. */
export const DueBackfill = Schema.Struct({
  ...DueJob.fields,
  /** How many more runs may wait in its workspace; null: any number. */
  room: Schema.NullOr(Schema.Finite)
})
export type DueBackfill = typeof DueBackfill.Type

/** The end of a run of the job brings the look forward: this is for when that was not told. */
const busyMillis = 10_000
/** Until an agent is switched on, a budget is raised, or fewer runs wait. */
const refusedMillis = 10_000

/**
 * Whether the slot gets its run now, and after how long the job is looked at again. `made` runs are made with it in the
 * workspace.
 */
export const planBackfill = (
  { agentId, agentIsActive, isBusy, isSpent, room }: DueBackfill,
  made: number
): { readonly isMade: boolean; readonly againMillis: number } => {
  if (isBusy) return { isMade: false, againMillis: busyMillis }
  const isRefused = isSpent || (agentId !== null && !agentIsActive) || (room !== null && room <= made)
  return isRefused ? { isMade: false, againMillis: refusedMillis } : { isMade: true, againMillis: busyMillis }
}
