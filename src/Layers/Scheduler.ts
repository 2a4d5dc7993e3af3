import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Unavailable } from "../Schemas/Errors.ts"
import { CronFireRepo } from "../Services/CronFireRepo.ts"
import { RunRepo } from "../Services/RunRepo.ts"
import { Scheduler } from "../Services/Scheduler.ts"
import { Signals } from "../Services/Signals.ts"
import * as Fires from "./Scheduler/Fires.ts"

/** The safety net for a lost signal. */
const pollMillis = 30_000
const atRest = { what: "slot", millis: pollMillis } as const
/** How soon a due job is looked at again that somebody else was just handling. */
const heldMillis = 50
const dueAtOnce = 200
const firstRetryMillis = 250
const lastRetryMillis = 5_000
const forgetMillis = 60_000
/** Between two batches of what is in no hurry. */
const pauseMillis = 20

/**
 * The fiber that fires cron jobs: it sleeps until the earliest is due, by the clock of the store and not of this
 * process, and wakes when one is made or changed on any node. Another does the same with runs that are scheduled. A
 * store that is away stops nothing: it is tried again, and what came due meanwhile is made up. So are slots that
 * somebody asked to be made up, one by one. What was missed is recorded beside it, and the ledger is kept short.
 */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const repo = yield* CronFireRepo
    const scheduler = yield* Scheduler
    const signals = yield* Signals
    const runs = yield* RunRepo
    const changed = yield* Latch.make(false)
    const scheduled = yield* Latch.make(false)
    const missed = yield* Latch.make(true)

    /** For ever, with growing pauses while it fails. */
    const persistently = (what: string, step: Effect.Effect<void, Unavailable>) => {
      let failures = 0
      return step.pipe(
        Effect.andThen(
          Effect.sync(() => {
            failures = 0
          })
        ),
        Effect.catchCause((cause) => {
          const millis = Math.min(firstRetryMillis * 2 ** failures++, lastRetryMillis)
          return Effect.andThen(Effect.logWarning(what, cause), Effect.sleep(millis))
        }),
        Effect.forever,
        Effect.forkScoped
      )
    }

    /** Until it is due, or something may be due sooner. */
    const waitFor = (latch: Latch.Latch, millis: number) =>
      Effect.andThen(latch.await, latch.close).pipe(
        Effect.timeoutOption(Math.min(Math.ceil(millis), pollMillis)),
        Effect.asVoid
      )

    yield* (yield* signals.subscribe).pipe(
      Stream.runForEach((signal) =>
        signal.type === "cron" ? Effect.andThen(changed.open, scheduled.open) : Effect.void
      ),
      Effect.forkScoped
    )
    yield* persistently(
      "cron jobs not fired",
      Effect.gen(function* () {
        const { millis, what } = Option.getOrElse(yield* repo.untilDue, () => atRest)
        if (millis > 0) return yield* waitFor(changed, millis)
        const handled = yield* what === "slot"
          ? Effect.tap(scheduler.fireDue, missed.open)
          : scheduler.backfillDue
        // Others hold what is left, or it is not due yet by a breath.
        yield* handled === 0 ? Effect.sleep(heldMillis) : Effect.yieldNow
      })
    )
    yield* persistently(
      "scheduled runs not made due",
      Effect.gen(function* () {
        const until = Option.getOrElse(yield* runs.untilDue, () => pollMillis)
        if (until > 0) return yield* waitFor(scheduled, until)
        const due = yield* runs.makeDue(dueAtOnce)
        if (due > 0) return yield* signals.publish({ type: "runs", kind: "task" })
        yield* Effect.sleep(heldMillis)
      })
    )
    yield* persistently(
      "missed slots not recorded",
      Effect.gen(function* () {
        // Now and then also what a node left behind that is gone.
        yield* missed.await.pipe(Effect.timeoutOption(forgetMillis))
        yield* missed.close
        const more = yield* scheduler.recordMissed.pipe(Effect.onError(() => missed.open))
        if (!more) return
        yield* missed.open
        yield* Effect.sleep(pauseMillis)
      })
    )
    yield* persistently(
      "the ledger of cron jobs not shortened",
      Effect.flatMap(scheduler.forget, (more) => Effect.sleep(more ? pauseMillis : forgetMillis))
    )
  })
).pipe(Layer.provideMerge(Fires.layer))
