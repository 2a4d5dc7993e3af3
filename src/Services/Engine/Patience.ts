import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { Unavailable } from "../../Schemas/Errors.ts"

export const isUnavailable = (error: unknown): error is Unavailable =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "Unavailable"

/**
 * Again and again while the store is away, until it can be done or the caller is interrupted: which it is when its
 * lease ends.
 */
export const patiently = <A, E, R>(effect: Effect.Effect<A, E | Unavailable, R>) =>
  Effect.retry(effect, {
    while: isUnavailable,
    schedule: Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("1 second")])
  }) as Effect.Effect<A, Exclude<E, Unavailable>, R>
