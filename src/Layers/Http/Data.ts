import * as Effect from "effect/Effect"

/** Wraps what an endpoint returns in `{"data": …}`. */
export const data = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<{ readonly data: A }, E, R> =>
  Effect.map(effect, (value) => ({ data: value }))
