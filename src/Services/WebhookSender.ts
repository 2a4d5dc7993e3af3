import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Stream from "effect/Stream"
import { outcomeOf } from "../Schemas/WebhookAttempts.ts"
import { monotonicMillis } from "./CurrentTime.ts"
import { Lifecycle } from "./Lifecycle.ts"
import * as Metrics from "./Metrics.ts"
import { Settings } from "./Settings.ts"
import { Signals } from "./Signals.ts"
import { type ClaimedDelivery, WebhookOutbox } from "./WebhookOutbox.ts"
import * as Batches from "./WebhookSender/Batches.ts"
import * as Claims from "./WebhookSender/Claims.ts"
import * as Places from "./WebhookSender/Places.ts"
import * as Post from "./WebhookSender/Post.ts"
import * as Quick from "./WebhookSender/Quick.ts"
import * as Results from "./WebhookSender/Results.ts"
import * as Upkeep from "./WebhookSender/Upkeep.ts"

/**
 * Sends what webhooks are to be told (CONTRACT.md section 12), on every node: claims what is due (`Claims`) when it is told
 * that something may be, when a place falls free, and now and then by itself; attempts it (`Post`) in one of a bounded
 * number of places (`Places`); and writes what came of it (`Results`). A delivery is leased for longer than an attempt may
 * take, so that none goes on when another may begin; whatever is lost on the way is due again after its lease.
 *
 * When the process is told to stop nothing more is claimed. What is under way has the time of the drain, and is left to
 * its lease then.
 */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { databaseTimeoutMillis, drainMillis } = yield* Settings
    const lifecycle = yield* Lifecycle
    const signals = yield* Signals
    const post = yield* Post.make
    const outbox = yield* WebhookOutbox
    const places = Places.make()
    const quick = Quick.make()
    const stopping = yield* Latch.make(false)
    const sends = yield* FiberSet.make<void>()
    /** Of a webhook of which others are held still, they are waited for if they are more than may be attempted at once. */
    const free = (those: ReadonlyArray<Pick<ClaimedDelivery, "id">>) => {
      const left = those.map(({ id }) => places.giveBack(id))
      if (left.some((count) => count === 0 || count < Claims.perWebhook)) claims.freed()
    }
    const results = yield* Results.start(free)

    const attempt = Effect.fnUntraced(function* (delivery: ClaimedDelivery) {
      const { attempt, id, webhook } = delivery
      const result = yield* post(delivery, (bytes) => places.weigh(id, bytes))
      const outcome = outcomeOf(result.statusCode, attempt, yield* Random.next)
      quick.seen(webhook.id, { outcome, result })
      yield* results.add({ id, attempt, result, outcome })
      return outcome.type === "delivered"
    }, Effect.interruptible)
    const giveBack = (those: ReadonlyArray<ClaimedDelivery>) =>
      outbox
        .giveBack(those)
        .pipe(
          Effect.ignoreCause({ log: "Debug", message: "deliveries of webhooks are left to their lease" }),
          Effect.andThen(Effect.sync(() => free(those)))
        )
    const inTurn = Batches.make({ attempt, giveBack })
    const claims = yield* Claims.make(places, quick, (deliveries) => {
      for (const { id, webhook } of deliveries) places.take(id, webhook)
      return Effect.forEach(
        Map.groupBy(deliveries, ({ webhook }) => webhook.id).values(),
        (those) => Effect.forEach(inTurn(those), (work) => FiberSet.run(sends, work), { discard: true }),
        { discard: true }
      )
    })

    yield* Metrics.observe(Metrics.nodeWebhooks, {}, places.held)
    yield* (yield* signals.subscribe).pipe(
      Stream.runForEach(({ type }) => (type === "webhooks" ? claims.wake : Effect.void)),
      Effect.forkScoped
    )
    yield* Upkeep.start(claims.isUsed)
    yield* Effect.forkScoped(Effect.raceFirst(claims.run, stopping.await))

    let until = Number.POSITIVE_INFINITY
    const stop = Effect.gen(function* () {
      until = Math.min(until, (yield* monotonicMillis) + drainMillis)
      yield* stopping.open
    })
    yield* Effect.forkScoped(Effect.andThen(lifecycle.draining, stop))
    yield* Effect.addFinalizer(
      Effect.fnUntraced(function* () {
        yield* stop
        yield* atMost(FiberSet.awaitEmpty(sends), Math.max(0, until - (yield* monotonicMillis)))
        yield* FiberSet.clear(sends)
        yield* atMost(results.written, databaseTimeoutMillis)
      })
    )
  })
)

const atMost = (wait: Effect.Effect<void>, millis: number) =>
  Effect.timeoutOption(Effect.interruptible(wait), millis)
