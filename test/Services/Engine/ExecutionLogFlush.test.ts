import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"

import { call, says, subject, thinking } from "../../support/ExecutionLogs.ts"

describe("ExecutionLog, flushing", () => {
  it.effect("tells at once, and writes once in 250 ms", () =>
    Effect.gen(function* () {
      const { appended, heard, log } = yield* subject()
      yield* TestClock.adjust(10_000)
      assert.deepStrictEqual(appended, [])
      for (const delta of ["a", "b", "c"]) yield* log.emit(says(delta))
      assert.deepStrictEqual(heard, [1, 2, 3])
      yield* TestClock.adjust(249)
      assert.deepStrictEqual(appended, [])
      yield* log.emit(says("d"))
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(appended, [[[1, 2, 3, 4]]])
      yield* log.emit(says("e"))
      yield* TestClock.adjust(250)
      assert.deepStrictEqual(appended, [[[1, 2, 3, 4]], [[5]]])
      yield* TestClock.adjust(10_000)
      assert.strictEqual(appended.length, 2)
    })
  )

  it.effect("writes what comes first at once if somebody watches elsewhere", () =>
    Effect.gen(function* () {
      const { appended, log, store } = yield* subject()
      store.isWatched = true
      yield* log.emit(says("a"))
      yield* Effect.replicateEffect(TestClock.adjust(0), 9)
      assert.deepStrictEqual(appended, [[[1]]])
      yield* log.emit(says("b"))
      yield* TestClock.adjust(249)
      assert.strictEqual(appended.length, 1)
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(appended, [[[1]], [[2]]])
    })
  )

  it.effect("writes what waits together with something else, answers of models in batches of their own", () =>
    Effect.gen(function* () {
      const { appended, keeps, log, rest } = yield* subject()
      yield* log.emit(thinking)
      yield* log.emit(says("a"))
      yield* log.emit(call)
      yield* log.emit(call)
      yield* log.emit(thinking)
      assert.deepStrictEqual(yield* rest, [[1, 2, 3], [4]])
      assert.strictEqual(keeps(), 1)
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(appended, [])
      assert.deepStrictEqual(yield* rest, [])
    })
  )

  it.effect("writes batches that may be on their way again as they were", () =>
    Effect.gen(function* () {
      const { appended, log, store } = yield* subject()
      store.fails = true
      yield* log.emit(says("a"))
      yield* TestClock.adjust(250)
      yield* log.emit(says("b"))
      yield* TestClock.adjust(250)
      yield* log.emit(says("c"))
      store.fails = false
      // Nothing more has to happen for it.
      yield* TestClock.adjust(250)
      assert.deepStrictEqual(appended, [[[1], [2], [3]]])
    })
  )

  it.effect("is told when a flush finds that another executes the run, and writes nothing more", () =>
    Effect.gen(function* () {
      const { appended, flushing, log, store } = yield* subject()
      store.isOurs = false
      yield* log.emit(says("a"))
      yield* TestClock.adjust(250)
      assert.strictEqual((yield* Effect.flip(Fiber.join(flushing)))._tag, "OwnershipLost")
      store.isOurs = true
      yield* log.emit(says("b"))
      yield* TestClock.adjust(10_000)
      assert.deepStrictEqual(appended, [])
    })
  )

  it.effect("is not written by the flusher when it does not flush any more", () =>
    Effect.gen(function* () {
      const { appended, flushing, log, rest } = yield* subject()
      yield* log.emit(says("a"))
      yield* Fiber.interrupt(flushing)
      yield* TestClock.adjust(10_000)
      assert.deepStrictEqual(appended, [])
      assert.deepStrictEqual(yield* rest, [[1]])
    })
  )
})
