import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** Now by the Clock, so that tests decide what time it is. */
export const now: Effect.Effect<Date> = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

const nanosPerMilli = 1_000_000

/**
 * Milliseconds, with fractions, of a clock that nobody sets: for how long something took or may take. The time of day
 * is corrected, by hours if need be. Two readings of one process can be compared; one alone says nothing.
 */
export const monotonicMillis: Effect.Effect<number> = Clock.clockWith((clock) =>
  Effect.sync(() => monotonicMillisOf(clock))
)

/** As `monotonicMillis`, where no effect can be run. */
export const monotonicMillisOf = (clock: Clock.Clock): number =>
  Number(clock.monotonicTimeNanosUnsafe()) / nanosPerMilli
