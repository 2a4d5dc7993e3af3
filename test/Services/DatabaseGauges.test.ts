import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import { TestClock } from "effect/testing"
import { Unavailable } from "../../src/Schemas/Errors.ts"
import { DatabaseGauges } from "../../src/Services/DatabaseGauges.ts"
import { type RunCount, RunCounts } from "../../src/Services/RunCounts.ts"

const none: RunCount = { waiting: 0, running: 0, parked: 0, oldestWaitingSeconds: 0 }

/** What is shown of the database, with the labels as they are ordered in a page. */
const shown = Effect.map(Metric.snapshot, (found) =>
  Object.fromEntries(
    found.flatMap(({ attributes, id, state }) =>
      /^database_(up|runs|oldest)/u.test(id) && "value" in state
        ? [[[id, ...Object.values(attributes ?? {})].join(" "), Number(state.value)]]
        : []
    )
  )
)

/** A store whose next answer is as the test says, and how often it was asked. */
const makeStore = () => {
  const store = {
    asked: 0,
    answer: Effect.succeed({ task: none, turn: none }) as RunCounts["Service"]["read"]
  }
  const read = Effect.suspend(() => {
    store.asked++
    return store.answer
  })
  const layer = DatabaseGauges.layer.pipe(
    Layer.provide(Layer.succeed(RunCounts, { read })),
    Layer.provideMerge(Layer.succeed(Metric.MetricRegistry, new Map()))
  )
  return { layer, store }
}

describe("what is shown of the database", () => {
  it.effect("is what it says, asked for once in 5 s however many look", () => {
    const { layer, store } = makeStore()
    return Effect.gen(function* () {
      const { refresh } = yield* DatabaseGauges
      store.answer = Effect.succeed({
        task: { waiting: 3, running: 2, parked: 1, oldestWaitingSeconds: 61.5 },
        turn: { ...none, running: 7 }
      })
      yield* Effect.all([refresh, refresh, refresh], { concurrency: "unbounded" })
      assert.strictEqual(store.asked, 1)
      assert.deepStrictEqual(yield* shown, {
        database_up: 1,
        "database_runs task waiting": 3,
        "database_runs task running": 2,
        "database_runs task parked": 1,
        "database_oldest_waiting_seconds task": 61.5,
        "database_runs turn waiting": 0,
        "database_runs turn running": 7,
        "database_runs turn parked": 0,
        "database_oldest_waiting_seconds turn": 0
      })
      yield* TestClock.adjust(4_999)
      yield* refresh
      assert.strictEqual(store.asked, 1)
      yield* TestClock.adjust(1)
      store.answer = Effect.succeed({ task: none, turn: none })
      yield* refresh
      assert.strictEqual(store.asked, 2)
      assert.deepInclude(yield* shown, { "database_runs task waiting": 0, database_up: 1 })
    }).pipe(Effect.provide(layer))
  })

  it.effect("is nothing while it is away or broken, but that it is", () => {
    const { layer, store } = makeStore()
    return Effect.gen(function* () {
      const { refresh } = yield* DatabaseGauges
      for (const answer of [
        Effect.fail(new Unavailable({ error: "away" })),
        Effect.die(new Error("a mistake"))
      ]) {
        yield* refresh
        assert.deepInclude(yield* shown, { database_up: 1, "database_runs task waiting": 0 })
        store.answer = answer
        yield* TestClock.adjust(5_000)
        yield* refresh
        assert.deepStrictEqual(yield* shown, { database_up: 0 })
        store.answer = Effect.succeed({ task: none, turn: none })
        yield* TestClock.adjust(5_000)
      }
    }).pipe(Effect.provide(layer))
  })

  it.effect("is waited for no longer than 2 s, and asked for again only when it has answered", () => {
    const { layer, store } = makeStore()
    return Effect.gen(function* () {
      const { refresh } = yield* DatabaseGauges
      yield* refresh
      const answered = yield* Deferred.make<void>()
      store.answer = Effect.as(Deferred.await(answered), { task: { ...none, waiting: 9 }, turn: none })
      yield* TestClock.adjust(5_000)
      const looking = yield* Effect.forkChild(refresh)
      yield* TestClock.adjust(1_999)
      assert.isUndefined(looking.pollUnsafe())
      yield* TestClock.adjust(1)
      yield* Fiber.join(looking)
      assert.deepStrictEqual(yield* shown, { database_up: 0 })
      const again = yield* Effect.forkChild(refresh)
      yield* TestClock.adjust(2_000)
      yield* Fiber.join(again)
      assert.strictEqual(store.asked, 2)
      yield* Deferred.succeed(answered, undefined)
      yield* TestClock.adjust(0)
      yield* refresh
      assert.strictEqual(store.asked, 2)
      assert.deepInclude(yield* shown, { database_up: 1, "database_runs task waiting": 9 })
    }).pipe(Effect.provide(layer))
  })
})
