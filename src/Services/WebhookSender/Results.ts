import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Metric from "effect/Metric"
import * as Schedule from "effect/Schedule"
import { failingMillis } from "../../Schemas/WebhookAttempts.ts"
import * as Metrics from "../Metrics.ts"
import { type Attempted, WebhookOutbox } from "../WebhookOutbox.ts"

const atOnce = 100
/** Others end meanwhile, and are written with it. */
const gatherMillis = 20

/**
 * Writes what came of attempts: one statement at a time for all that ended meanwhile. While the store is away it waits;
 * what is never written is attempted again when its lease has ended. `settled` is told of those that keep no place.
 */
export const start = Effect.fnUntraced(function* (settled: (those: ReadonlyArray<Attempted>) => void) {
  const outbox = yield* WebhookOutbox
  const ended: Array<Attempted> = []
  const some = yield* Latch.make(false)
  const none = yield* Latch.make(true)

  const settle = (those: ReadonlyArray<Attempted>) =>
    outbox.settle(those, failingMillis).pipe(
      Effect.retry(Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("1 second")])),
      Effect.flatMap((disabled) => Effect.forEach(disabled, tellDisabled, { discard: true })),
      Effect.andThen(Effect.forEach(those, count, { discard: true }))
    )
  /** What can't be written of one is no reason not to write of the others. */
  const settleAlone = (one: Attempted) =>
    Effect.ignoreCause(settle([one]), { log: "Warn", message: "what came of a webhook is not written" })

  yield* Effect.gen(function* () {
    yield* some.await
    yield* Effect.sleep(gatherMillis)
    yield* some.close
    while (ended.length > 0) {
      const those = ended.splice(0, atOnce)
      yield* settle(those).pipe(
        Effect.catchDefect(() => Effect.forEach(those, settleAlone, { discard: true })),
        Effect.ensuring(Effect.sync(() => settled(those)))
      )
    }
    yield* none.open
  }).pipe(Effect.forever, Effect.forkScoped)

  return {
    add: (attempted: Attempted): Effect.Effect<void> =>
      Effect.suspend(() => {
        ended.push(attempted)
        none.closeUnsafe()
        return Effect.asVoid(some.open)
      }),
    /** Waits until nothing is left to be written. */
    written: none.await
  }
})

const attemptsOf = Metrics.seriesOf(Metrics.webhookAttempts, "outcome")
const disabledOf = Metrics.seriesOf(Metrics.webhooksDisabled, "reason")

const count = ({ outcome, result }: Attempted) =>
  Effect.andThen(
    Metric.update(attemptsOf(outcome.type), 1),
    Metric.update(Metrics.webhookSeconds, result.durationMs / 1_000)
  )

const tellDisabled = ({
  id,
  reason,
  workspaceId
}: Effect.Success<ReturnType<WebhookOutbox["Service"]["settle"]>>[number]) =>
  Effect.andThen(
    Metric.update(disabledOf(reason), 1),
    Effect.annotateLogs(Effect.logWarning("a webhook was switched off"), {
      mark: "webhook.disabled",
      webhookId: id,
      workspaceId,
      reason
    })
  )
