import * as Effect from "effect/Effect"
import { monotonicMillis, now } from "../../../../Services/CurrentTime.ts"

/** Now: what is written of it, and what leases are measured by, which no correction of the time of day moves. */
export interface Moment {
  readonly at: Date
  readonly millis: number
}

export const moment: Effect.Effect<Moment> = Effect.zipWith(now, monotonicMillis, (at, millis) => ({
  at,
  millis
}))
