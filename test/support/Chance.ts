import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/** A whole number from 0 on, less than `end`. */
export const below = (end: number) => Random.nextIntBetween(0, end, { halfOpen: true })

export const pick = <A>(all: ReadonlyArray<A>) =>
  Effect.map(below(all.length), (n) => all[n] ?? assert.fail("nothing to pick from"))

export const isLucky = (percent: number) => Effect.map(below(100), (n) => n < percent)
