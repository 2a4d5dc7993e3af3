import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import { type FirePlan, planBacklog, planFire } from "../../Schemas/CronFire.ts"
import { CronFireRepo, type NewFire } from "../../Services/CronFireRepo.ts"
import { cronLag } from "../../Services/Metrics.ts"
import { Scheduler } from "../../Services/Scheduler.ts"
import { Settings } from "../../Services/Settings.ts"
import { Signals } from "../../Services/Signals.ts"
import { Transaction } from "../../Services/Transaction.ts"
import { makeBackfillDue } from "./Backfills.ts"
import { countSlots, makeRunOf, withEntries } from "./Made.ts"

/** Jobs of one transaction: large enough for few statements, small enough to be over in tens of milliseconds. */
const batch = 200
/** Missed slots that are recorded together with the newest one; more would hold other jobs up. */
const missedAtOnce = 20
const missedBatch = 1_000
const forgetBatch = 1_000
/** After so long other fibers get their turn. */
const turnNanos = 10_000_000n
/**
 * A schedule takes well under a millisecond, but one that lies where daylight saving skips takes tens of them. A
 * batch of such ones would take longer than a transaction may, again and again.
 */
const mostPlanningNanos = 1_000_000_000n

/** `Scheduler.recordMissed`. */
const makeRecordMissed = Effect.gen(function* () {
  const repo = yield* CronFireRepo
  const { cronLedgerMillis } = yield* Settings
  const transaction = yield* Transaction

  return transaction
    .atomically(
      Effect.gen(function* () {
        const claimed = yield* repo.claimBacklog(cronLedgerMillis)
        if (Option.isNone(claimed)) return undefined
        const { at, backlog } = claimed.value
        const plan = planBacklog(backlog, missedBatch)
        yield* repo.recordMissed(backlog, { at, ...plan })
        return plan.slots.length
      })
    )
    .pipe(
      Effect.tap((missed = 0) => countSlots("missed", missed)),
      Effect.map((missed) => missed !== undefined)
    )
})

export const layer = Layer.effect(
  Scheduler,
  Effect.gen(function* () {
    const backfillDue = yield* makeBackfillDue(batch)
    const recordMissed = yield* makeRecordMissed
    const repo = yield* CronFireRepo
    const runOf = yield* makeRunOf
    const { cronLedgerMillis } = yield* Settings
    const signals = yield* Signals
    const transaction = yield* Transaction

    const slotsOf = Effect.fnUntraced(function* (plan: FirePlan, at: Date) {
      const { job } = plan
      const missed = plan.backlog === null ? null : planBacklog(plan.backlog, missedAtOnce)
      const slots: Array<NewFire> = (missed?.slots ?? []).map((scheduledAt) => ({
        cronJobId: job.id,
        scheduledAt,
        outcome: "missed",
        run: null
      }))
      const run = plan.outcome === "fired" ? yield* runOf(job, at, plan.slot) : null
      slots.push({ cronJobId: job.id, scheduledAt: plan.slot, outcome: plan.outcome, run })
      return { slots, rest: missed?.rest ?? null }
    })

    const fire = Effect.gen(function* () {
      const { at, jobs } = yield* repo.claim(batch)
      if (jobs.length === 0) return { at, jobs: 0, made: 0, slots: [] }
      const slots: Array<NewFire> = []
      const backlogs = []
      const next = []
      const started = yield* Clock.monotonicTimeNanos
      let turn = started
      for (const job of jobs) {
        const nanos = yield* Clock.monotonicTimeNanos
        // What is left stays due, and comes first the next time.
        if (next.length > 0 && nanos - started > mostPlanningNanos) break
        if (nanos - turn > turnNanos) {
          yield* Effect.yieldNow
          turn = yield* Clock.monotonicTimeNanos
        }
        const plan = planFire(job, at)
        const { rest, slots: own } = yield* slotsOf(plan, at)
        slots.push(...own)
        if (rest !== null) backlogs.push(rest)
        next.push({ cronJobId: job.id, nextFireAt: plan.nextFireAt })
      }
      const made = yield* withEntries(slots)(repo.record({ firedAt: at, slots, backlogs, next }))
      return { at, jobs: next.length, made: made.length, slots }
    })

    return Scheduler.of({
      backfillDue,
      fireDue: Effect.gen(function* () {
        const { at, jobs, made, slots } = yield* transaction.atomically(fire)
        if (made > 0) yield* signals.publish({ type: "runs", kind: "task" })
        for (const { outcome, scheduledAt } of slots) {
          yield* countSlots(outcome, 1)
          if (outcome !== "missed") {
            yield* Metric.update(cronLag, Math.max(0, at.getTime() - scheduledAt.getTime()) / 1000)
          }
        }
        return jobs
      }),
      recordMissed,
      forget: repo
        .forget(cronLedgerMillis, forgetBatch)
        .pipe(Effect.map((removed) => removed === forgetBatch))
    })
  })
)
