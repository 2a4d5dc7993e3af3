import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { TestClock } from "effect/testing"
import { timersOf, whenSilent } from "../../src/Services/Silence.ts"

const make = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const silent: Array<string> = []
  const waiting = (name: string, millis: number) => whenSilent(clock, millis, () => silent.push(name))
  return { clock, silent, waiting }
})

describe("whenSilent", () => {
  it.effect("tells of those that are silent alone, by one timer for all", () =>
    Effect.gen(function* () {
      const { clock, silent, waiting } = yield* make
      const all = [waiting("long", 10_000), waiting("heard", 1_000), waiting("short", 1_000)]
      yield* TestClock.adjust(600)
      all[1]?.heard()
      yield* TestClock.adjust(400)
      assert.deepStrictEqual(silent, ["short"])
      assert.strictEqual(timersOf(clock), 1)
      yield* TestClock.adjust(600)
      assert.deepStrictEqual(silent, ["short", "heard"])
      all[1]?.leave()
      all[2]?.leave()
      yield* TestClock.adjust(8_400)
      assert.deepStrictEqual(silent, ["short", "heard", "long"])
      all[0]?.leave()
      assert.strictEqual(timersOf(clock), 0)
    })
  )

  it.effect("tells again after each such time, and nobody who has left while it looks", () =>
    Effect.gen(function* () {
      const { clock, silent, waiting } = yield* make
      const first = whenSilent(clock, 1_000, () => {
        silent.push("first")
        second.leave()
      })
      const second = waiting("second", 1_000)
      yield* TestClock.adjust(1_000)
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(silent, ["first", "first"])
      first.leave()
      // Who comes when nobody was left has a timer again.
      const third = waiting("third", 500)
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(silent, ["first", "first", "third"])
      third.leave()
    })
  )
})
