import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/** Chances that are the same each time for the same seed. */
export const seeded = (seed: string) => {
  const random = Effect.runSync(Random.withSeed(Effect.service(Random.Random), seed))
  const between = (from: number, to: number) => from + Math.floor(random.nextDoubleUnsafe() * (to - from + 1))
  return {
    /** A whole number, both ends included. */
    between,
    lucky: (percent: number) => random.nextDoubleUnsafe() * 100 < percent,
    pick: <A>(all: readonly [A, ...ReadonlyArray<A>]): A => all[between(0, all.length - 1)] ?? all[0]
  }
}

export type Seeded = ReturnType<typeof seeded>
