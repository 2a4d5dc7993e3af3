import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** Now by the Clock, so that tests decide what time it is. */
export const now: Effect.Effect<Date> = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))
