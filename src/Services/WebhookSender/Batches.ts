import * as Effect from "effect/Effect"
import type { ClaimedDelivery } from "../WebhookOutbox.ts"
import { perWebhook } from "./Claims.ts"

/** What is not begun by then is given back: whoever answers at once has answered them all, and others wait for it. */
const patienceMillis = 1_000

interface Ways {
  /** Whether it was delivered. */
  readonly attempt: (delivery: ClaimedDelivery) => Effect.Effect<boolean>
  readonly giveBack: (those: ReadonlyArray<ClaimedDelivery>) => Effect.Effect<void>
}

/**
 * What was claimed of one webhook, as work to be done at the same time: as many as may be are attempted at once, the rest one after
 * the other. When one fails, or after a second, those that were not begun are given back.
 */
export const make =
  ({ attempt, giveBack }: Ways) =>
  (those: ReadonlyArray<ClaimedDelivery>): ReadonlyArray<Effect.Effect<void>> => {
    if (those.length <= perWebhook) return those.map((delivery) => Effect.asVoid(attempt(delivery)))
    const waiting = [...those]
    const stop = Effect.suspend(() => {
      const rest = waiting.splice(0)
      return rest.length === 0 ? Effect.void : giveBack(rest)
    })
    const worker = Effect.gen(function* () {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        if (!(yield* attempt(next))) yield* stop
      }
    })
    const workers = Array.from({ length: perWebhook }, () => worker)
    // Ends with the last of them: nobody waits for it in vain.
    const all = Effect.all(workers, { concurrency: "unbounded", discard: true })
    return [
      Effect.asVoid(Effect.raceFirst(all, Effect.andThen(Effect.delay(stop, patienceMillis), Effect.never)))
    ]
  }
