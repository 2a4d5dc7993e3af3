import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import { TestClock } from "effect/testing"
import * as Repo from "../../../src/Layers/Repo.ts"
import type { WorkspaceId } from "../../../src/Schemas/Ids.ts"
import { BudgetNews } from "../../../src/Services/Engine/BudgetNews.ts"
import * as Metrics from "../../../src/Services/Metrics.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { Signals } from "../../../src/Services/Signals.ts"

const workspaceId = "ws_1" as WorkspaceId
const layer = BudgetNews.layer.pipe(
  Layer.provideMerge(Repo.layerMemory),
  Layer.provideMerge(Layer.succeed(Metric.MetricRegistry, new Map())),
  Layer.provide(Layer.succeed(Settings, Settings.defaults))
)

/** So many wait in the order of their numbers; who may ask says so in `asking`. */
const subject = Effect.fnUntraced(function* (count: number) {
  const news = yield* BudgetNews
  const signals = yield* Signals
  const asking: Array<number> = []
  const fibers: Array<Fiber.Fiber<unknown>> = []
  for (let n = 0; n < count; n++) {
    const waiting = Effect.andThen(
      news.changed(workspaceId),
      Effect.sync(() => asking.push(n))
    )
    fibers.push(yield* Effect.forkChild(waiting, { startImmediately: true }))
  }
  yield* TestClock.adjust(1)
  const tell = (what: "freed" | "set") =>
    Effect.andThen(signals.publish({ type: "budget", workspaceId, what }), TestClock.adjust(1))
  return { asking, fibers, news, tell }
})

/** How many wait, as `/metrics` says. */
const waiting = Effect.map(Metric.value(Metrics.budgetWaiting), ({ value }) => value)

describe("who waits for the budget of a workspace", () => {
  it.effect("is not woken with all others when a call is over, but in turn", () =>
    Effect.gen(function* () {
      const { asking, news, tell } = yield* subject(100)
      assert.strictEqual(yield* waiting, 100)
      yield* tell("freed")
      assert.deepStrictEqual(asking, [0, 1])
      assert.strictEqual(yield* waiting, 98)
      news.pass(workspaceId)
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(asking, [0, 1, 2])
      yield* tell("set")
      assert.lengthOf(asking, 11)
    }).pipe(Effect.provide(layer))
  )

  it.effect("hears at once of what was over while it asked", () =>
    Effect.gen(function* () {
      const { asking, news, tell } = yield* subject(1)
      yield* tell("freed")
      assert.deepStrictEqual(asking, [0])
      // It asks in vain, and meanwhile another call is over.
      yield* tell("freed")
      yield* news.changed(workspaceId)
    }).pipe(Effect.provide(layer))
  )

  it.effect("passes its turn on when it goes away on it", () =>
    Effect.gen(function* () {
      const { asking, fibers, tell } = yield* subject(4)
      const [first] = fibers
      if (first === undefined) return assert.fail("nobody waits")
      yield* Fiber.interrupt(first)
      yield* tell("freed")
      assert.deepStrictEqual(asking, [1, 2])
    }).pipe(Effect.provide(layer))
  )

  it.effect("looks by itself, the sooner the fewer wait before it", () =>
    Effect.gen(function* () {
      const { asking } = yield* subject(100)
      yield* TestClock.adjust(2_000)
      assert.deepStrictEqual(asking, [0, 1, 2, 3])
      yield* TestClock.adjust(2_000)
      assert.lengthOf(asking, 8)
      yield* TestClock.adjust(26_000)
      assert.lengthOf(asking, 100)
    }).pipe(Effect.provide(layer))
  )
})
