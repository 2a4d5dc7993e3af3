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
import type { ClaimedDelivery } from "./WebhookOutbox.ts"
import * as Claims from "./WebhookSender/Claims.ts"
import * as Places from "./WebhookSender/Places.ts"
import * as Post from "./WebhookSender/Post.ts"
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
    const places = Places.make()
    const stopping = yield* Latch.make(false)
    const sends = yield* FiberSet.make<void>()
    const results = yield* Results.start((those) => {
      for (const { id } of those) places.giveBack(id)
      claims.freed()
    })

    const attempt = Effect.fnUntraced(function* (delivery: ClaimedDelivery) {
      const { attempt, id } = delivery
      const result = yield* post(delivery, (bytes) => places.weigh(id, bytes))
      const outcome = outcomeOf(result.statusCode, attempt, yield* Random.next)
      yield* results.add({ id, attempt, result, outcome })
    }, Effect.interruptible)
    const claims = yield* Claims.make(places, (deliveries) =>
      Effect.forEach(
        deliveries,
        (delivery) => {
          places.take(delivery.id, delivery.webhook.workspaceId)
          return FiberSet.run(sends, attempt(delivery))
        },
        { discard: true }
      )
    )

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
