import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import { nothingTold, tell } from "../../../src/Schemas/RunEvent.ts"

import { asked, away, call, idsOf, says, subject, thinking } from "../../support/ExecutionLogs.ts"

describe("ExecutionLog", () => {
  it.effect("lets no write overtake another", () =>
    Effect.gen(function* () {
      const { log } = yield* subject()
      const gate = yield* Deferred.make<boolean>()
      const order: Array<ReadonlyArray<ReadonlyArray<number>>> = []
      yield* log.emit(says("a"))
      const first = yield* Effect.forkChild(
        log.write((batches) => {
          order.push(idsOf(batches))
          return Deferred.await(gate)
        }),
        { startImmediately: true }
      )
      yield* log.emit(says("b"))
      const second = yield* Effect.forkChild(
        log.write((batches) => {
          order.push(idsOf(batches))
          return Effect.succeed(true)
        }),
        { startImmediately: true }
      )
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(order, [[[1]]])
      yield* Deferred.succeed(gate, true)
      yield* Fiber.join(first)
      yield* Fiber.join(second)
      assert.deepStrictEqual(order, [[[1]], [[2]]])
    })
  )

  it.effect("tells of what comes last when it is kept, and not if it is refused", () =>
    Effect.gen(function* () {
      const { heard, log } = yield* subject()
      yield* log.emit(says("a"))
      const refused = log.write(
        () => Effect.sync(() => assert.deepStrictEqual(heard, [1])).pipe(Effect.as(false)),
        [says("b")]
      )
      assert.strictEqual((yield* Effect.flip(refused))._tag, "OwnershipLost")
      assert.deepStrictEqual(heard, [1])
      yield* log.write(
        (batches) =>
          Effect.sync(() => {
            assert.deepStrictEqual(idsOf(batches).at(-1), [3])
            return true
          }),
        [says("c")]
      )
      assert.deepStrictEqual(heard, [1, 3])
    })
  )

  it.effect("keeps nothing of what comes last when that can't be stored", () =>
    Effect.gen(function* () {
      const { heard, log, rest } = yield* subject()
      yield* log.emit(says("a"))
      const broken = log.write(() => Effect.die(new Error("it can't be stored")), [says("b")])
      yield* Effect.exit(broken)
      assert.deepStrictEqual(yield* rest, [[1]])
      assert.deepStrictEqual(heard, [1])
    })
  )

  it.effect("tries again while the store is away, and tells of nothing before it is back", () =>
    Effect.gen(function* () {
      const { heard, log } = yield* subject()
      let tries = 0
      const parking = yield* Effect.forkChild(
        log.write(
          () => Effect.suspend(() => (++tries < 3 ? Effect.fail(away) : Effect.succeed(true))),
          [says("a")]
        )
      )
      yield* TestClock.adjust(299)
      assert.deepStrictEqual([tries, heard], [2, []])
      yield* TestClock.adjust(1)
      yield* Fiber.join(parking)
      assert.deepStrictEqual([tries, heard], [3, [1]])
    })
  )

  it.effect("keeps steps with what was told before them, and counts what they cost", () =>
    Effect.gen(function* () {
      const { appended, log, store } = yield* subject()
      yield* log.emit(thinking)
      yield* log.record(0, asked)
      assert.deepStrictEqual(appended, [[[1]]])
      assert.deepStrictEqual(log.usage(), { inputTokens: 3, outputTokens: 4 })
      store.isOurs = false
      assert.strictEqual((yield* Effect.flip(log.record(1, asked)))._tag, "OwnershipLost")
      assert.deepStrictEqual(log.usage(), { inputTokens: 3, outputTokens: 4 })
    })
  )

  it.effect(
    "goes on behind finished steps: takes back the answer that is asked for again, uses no id twice",
    () =>
      Effect.gen(function* () {
        const before = [thinking, call, thinking, says("lost")].reduce(
          (told, event) => tell(told, { id: told.lastId + 1, event }),
          nothingTold
        )
        const whole = yield* subject(before)
        yield* whole.log.resume(
          new Map([
            [0, asked],
            [1, asked]
          ])
        )
        assert.deepStrictEqual(whole.truncated, [])
        const { log, rest, store, truncated } = yield* subject(before)
        yield* log.resume(new Map([[0, asked]]))
        assert.deepStrictEqual(truncated, [[3, 4]])
        assert.deepStrictEqual(log.usage(), { inputTokens: 3, outputTokens: 4 })
        yield* log.emit(thinking)
        yield* log.emit(call)
        assert.deepStrictEqual(yield* rest, [[5]])
        store.isOurs = false
        assert.strictEqual((yield* Effect.flip(log.resume(new Map())))._tag, "OwnershipLost")
      })
  )

  it.effect("knows when the first text was told", () =>
    Effect.gen(function* () {
      const { log } = yield* subject()
      yield* log.emit(thinking)
      assert.isNull(log.firstTokenAt())
      yield* TestClock.adjust(5)
      yield* log.emit(says("a"))
      yield* TestClock.adjust(5)
      yield* log.emit(says("b"))
      assert.deepStrictEqual(log.firstTokenAt(), new Date(5))
    })
  )

  it.effect("forgets what can't be kept", () =>
    Effect.gen(function* () {
      const { heard, log, rest } = yield* subject({ ...nothingTold, lastId: 7 })
      yield* log.emit(says("a"))
      yield* log.discard
      assert.deepStrictEqual(yield* rest, [])
      yield* log.tellEnd({ event: "error", data: { error: "e", code: "c" } })
      assert.deepStrictEqual(heard, [8, 9])
      assert.deepStrictEqual(yield* rest, [])
    })
  )
})
