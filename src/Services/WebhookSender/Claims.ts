import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import { monotonicMillis } from "../CurrentTime.ts"
import { type ClaimedDelivery, WebhookOutbox } from "../WebhookOutbox.ts"
import type { Places } from "./Places.ts"
import { limitMillis } from "./Post.ts"
import type { Quick } from "./Quick.ts"

const leaseMillis = 30_000
/** A claim whose answer took longer leaves too little of the lease, and is left to its end. */
const latestMillis = leaseMillis - limitMillis - 5_000
/** Over all nodes: a receiver is not run over, and a slow one holds few places. */
export const perWebhook = 4
/** Of a webhook that answers at once so many are claimed together: else most of the time would go by between claims. */
const perQuick = 64
const claimAtOnce = perQuick
/** The safety net for a lost signal, and for leases that others let end. */
const usedMillis = 1_000
const unusedMillis = 10_000
/** After a signal it waits so long: one claim finds what several signals have told of. */
const gatherMillis = 5
/** How soon it looks again where some are due that others hold; then after twice as long each. */
const firstPauseMillis = 50

/** Claims deliveries while there are places for them, and has each begun: when it is woken, and now and then by itself. */
export const make = Effect.fnUntraced(function* (
  places: Places,
  quick: Quick,
  begin: (deliveries: ReadonlyArray<ClaimedDelivery>) => Effect.Effect<void>
) {
  const outbox = yield* WebhookOutbox
  const awake = yield* Latch.make(false)
  let isUsed = false
  /** Whether something waits that a free place, or the end of an attempt, may let begin. */
  let mayWait = false
  let pause = firstPauseMillis

  /** For how long nothing more is due, as far as is known. */
  const pauseAfter = (claimed: number, untilNextMillis: number | null): number => {
    pause = claimed > 0 ? firstPauseMillis : Math.min(2 * pause, usedMillis)
    const longest = isUsed ? usedMillis : unusedMillis
    return untilNextMillis === null ? longest : Math.min(longest, Math.max(untilNextMillis, pause))
  }

  // What was claimed is begun.
  const claim = Effect.gen(function* () {
    const limit = Math.min(claimAtOnce, places.free())
    mayWait = true
    if (limit === 0) return usedMillis
    const since = yield* monotonicMillis
    const exceptWorkspaces = places.full()
    const found = yield* outbox.claim({
      limit,
      perWebhook,
      quick: { ids: quick.ids(), perWebhook: perQuick },
      leaseMillis,
      exceptWorkspaces
    })
    const { deliveries, untilNextMillis } = found
    const isLate = (yield* monotonicMillis) - since > latestMillis
    yield* isLate ? tellLate(deliveries.length) : begin(deliveries)
    isUsed = found.isUsed
    mayWait = untilNextMillis !== null
    return deliveries.length === limit ? 0 : pauseAfter(deliveries.length, untilNextMillis)
  }).pipe(
    Effect.uninterruptible,
    Effect.catchCause((cause) =>
      Effect.as(Effect.logWarning("deliveries of webhooks not claimed", cause), usedMillis)
    )
  )

  return {
    /** For ever. */
    run: Effect.gen(function* () {
      const millis = yield* claim
      if (millis > 0) {
        yield* Effect.timeoutOption(awake.await, millis)
        yield* Effect.sleep(gatherMillis)
      }
      yield* awake.close
    }).pipe(Effect.forever),
    /** Something may be due. */
    wake: Effect.asVoid(awake.open),
    /** A place is free. */
    freed: (): void => {
      if (mayWait) awake.openUnsafe()
    },
    isUsed: () => isUsed
  }
})

const tellLate = (deliveries: number) =>
  Effect.annotateLogs(
    Effect.logWarning("the database took too long to answer: deliveries of webhooks are left to their lease"),
    { deliveries }
  )
