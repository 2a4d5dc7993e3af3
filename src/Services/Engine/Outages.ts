import * as Effect from "effect/Effect"
import type { Unavailable } from "../../Schemas/Errors.ts"
import { monotonicMillis } from "../CurrentTime.ts"
import { isUnavailable } from "./Patience.ts"

/** When the store was away for so long, as this node finds it, that workers may have lost their leases by it. */
export interface Outages {
  /** Learns from what comes of asking the store. */
  readonly learn: <A, E, R>(ask: Effect.Effect<A, E | Unavailable, R>) => Effect.Effect<A, E | Unavailable, R>
  /** How long ago the last one ended, in milliseconds: 0 during one, infinite before the first. */
  readonly millisAgo: Effect.Effect<number>
}

/** `leastMillis` is how long the store is away at least where leases are lost by it. */
export const make = (leastMillis: number): Outages => {
  let since: number | undefined
  let until = Number.NEGATIVE_INFINITY
  const isLong = (at: number) => since !== undefined && at - since >= leastMillis
  return {
    learn: (ask) =>
      Effect.flatMap(monotonicMillis, (asked) =>
        ask.pipe(
          Effect.tapError((error) =>
            Effect.sync(() => {
              if (isUnavailable(error)) since ??= asked
            })
          ),
          Effect.tap(() =>
            Effect.map(monotonicMillis, (at) => {
              if (isLong(at)) until = at
              since = undefined
            })
          )
        )
      ),
    millisAgo: Effect.map(monotonicMillis, (at) => (isLong(at) ? 0 : at - until))
  }
}
