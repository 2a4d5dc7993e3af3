import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { requireActive } from "../../Schemas/Agent.ts"
import {
  type BackfillCronJob,
  type BackfillRange,
  backfillRange,
  mostSlots,
  mostWaiting,
  tooManySlots,
  tooManyWaiting
} from "../../Schemas/CronBackfill.ts"
import { InvalidInput } from "../../Schemas/Errors.ts"
import type { CronJobId } from "../../Schemas/Ids.ts"
import { instantsOf } from "../../Schemas/Schedule.ts"
import type { User } from "../../Schemas/User.ts"
import { Access } from "../Access.ts"
import { audited } from "../Audited.ts"
import { CronBackfillRepo } from "../CronBackfillRepo.ts"
import { CronFireRepo } from "../CronFireRepo.ts"
import { CronJobRepo } from "../CronJobRepo.ts"
import { References } from "../References.ts"
import { Settings } from "../Settings.ts"
import { Signals } from "../Signals.ts"
import { Transaction } from "../Transaction.ts"

/** So many instants of a rare schedule take some 13 ms to compute: others have their turn in between. */
const portion = 10

/** The slots of a schedule in a range, oldest first; refused where they are too many. */
const slotsIn = Effect.fnUntraced(function* (
  { schedule, timezone }: { readonly schedule: string; readonly timezone: string },
  { from, to }: BackfillRange
) {
  const { next } = yield* Effect.fromResult(
    Result.mapError(
      instantsOf(schedule, timezone, from),
      ({ field, problem }) => new InvalidInput({ error: `${field}: ${problem}` })
    )
  )
  const slots: Array<Date> = []
  for (let at = next(new Date(from.getTime() - 1)); at !== null && at < to; at = next(at)) {
    if (slots.length === mostSlots) return yield* new InvalidInput({ error: tooManySlots })
    slots.push(at)
    if (slots.length % portion === 0) yield* Effect.yieldNow
  }
  return slots
})

/** What has slots of cron jobs made up (CONTRACT.md section 11). */
export const makeBackfills = Effect.gen(function* () {
  const access = yield* Access
  const backfills = yield* CronBackfillRepo
  const fires = yield* CronFireRepo
  const references = yield* References
  const repo = yield* CronJobRepo
  const { cronLedgerMillis } = yield* Settings
  const signals = yield* Signals
  const transaction = yield* Transaction

  const visible = (user: User, id: CronJobId) =>
    Effect.flatMap(repo.find(id), (found) => access.visible(user, "cron job", found))
  const locked = (user: User, id: CronJobId) =>
    Effect.flatMap(repo.lock(id), (found) => access.visible(user, "cron job", found))

  /** Of the range what was missed and is not in the ledger yet. */
  const notRecorded = Effect.fnUntraced(function* (id: CronJobId, { from, to }: BackfillRange) {
    const slots = []
    for (const backlog of yield* backfills.backlogs(id)) {
      const first = backlog.from > from ? backlog.from : from
      const end = backlog.until < to ? backlog.until : to
      if (first < end) slots.push(...(yield* slotsIn(backlog, { from: first, to: end })))
    }
    return slots
  })

  /** Oldest first, and each once. */
  const missedIn = Effect.fnUntraced(function* (
    id: CronJobId,
    range: BackfillRange,
    others: ReadonlyArray<Date>
  ) {
    const recorded = yield* backfills.missed(id, range, mostSlots + 1)
    const slots = new Set([...recorded, ...others].map((slot) => slot.getTime()))
    if (slots.size > mostSlots) return yield* new InvalidInput({ error: tooManySlots })
    return Array.from(slots, (slot) => new Date(slot))
  })

  return {
    backfill: Effect.fn("CronJobs.backfill")(function* (user: User, id: CronJobId, input: BackfillCronJob) {
      const job = yield* visible(user, id)
      const given = { now: yield* fires.now, keepMillis: cronLedgerMillis }
      const range = yield* Effect.fromResult(
        Result.mapError(backfillRange(input, given), (error) => new InvalidInput({ error }))
      )
      const { agent } = yield* references.resolve(job.workspaceId, { agentId: job.agentId })
      yield* Effect.fromResult(requireActive(agent))
      const all = yield* slotsIn(job, range)
      const others = input.only === "all" ? [] : yield* notRecorded(id, range)
      const queued = yield* transaction.atomically(
        Effect.gen(function* () {
          yield* locked(user, id)
          const slots = input.only === "all" ? all : yield* missedIn(id, range, others)
          const done = yield* backfills
            .queue(id, slots, cronLedgerMillis)
            .pipe(audited("cron_job.backfill", job))
          if (done.waiting > mostWaiting) return yield* new InvalidInput({ error: tooManyWaiting })
          return done.queued
        })
      )
      if (queued > 0) yield* signals.publish({ type: "cron" })
      return { slots: queued }
    }),
    backfillState: Effect.fn("CronJobs.backfillState")(function* (user: User, id: CronJobId) {
      yield* visible(user, id)
      return yield* backfills.state(id)
    }),
    cancelBackfill: Effect.fn("CronJobs.cancelBackfill")(function* (user: User, id: CronJobId) {
      const job = yield* visible(user, id)
      yield* backfills.cancel(id).pipe(audited("cron_job.cancel_backfill", job))
    })
  }
})
