import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpBody from "effect/http/HttpBody"
import * as Metric from "effect/Metric"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import type { Answer } from "../../../src/Layers/Telemetry/Post.ts"
import * as Queue from "../../../src/Layers/Telemetry/Queue.ts"
import { telemetryDropped } from "../../../src/Services/Metrics.ts"

const taken: Answer = { _tag: "Taken" }
const away = (afterMillis?: number): Answer => ({ _tag: "Away", reason: "away", afterMillis })
const refused: Answer = { _tag: "Refused", reason: "refused" }

/** A queue of numbers before a collector that answers so, the last answer for ever. */
const make = Effect.fnUntraced(function* (
  batching: { readonly queue: number; readonly batch: number },
  ...answers: ReadonlyArray<Effect.Effect<Answer>>
) {
  const sent: Array<string> = []
  const scope = yield* Scope.make()
  const queue = yield* Queue.make<number>({
    signal: "traces",
    batching: { ...batching, delayMillis: 1000 },
    encode: (items) => HttpBody.text(items.join(" ")),
    post: (body) =>
      Effect.suspend(() => {
        sent.push(body._tag === "Uint8Array" ? Buffer.from(body.body).toString() : "")
        return answers[Math.min(sent.length, answers.length) - 1] ?? Effect.succeed(taken)
      }),
    leftMillis: Effect.succeed(3000)
  }).pipe(Scope.provide(scope))
  const { count } = yield* Metric.value(Metric.withAttributes(telemetryDropped, { signal: "traces" }))
  return {
    sent,
    push: (...items: ReadonlyArray<number>) => {
      for (const item of items) queue.push(item, 1)
    },
    isFull: queue.isFull,
    pushLarge: (item: number, size: number) => queue.push(item, size),
    dropped: Effect.map(
      Metric.value(Metric.withAttributes(telemetryDropped, { signal: "traces" })),
      (now) => Number(now.count) - Number(count)
    ),
    close: Scope.close(scope, Exit.void)
  }
})

describe("what waits for a collector", () => {
  it.effect("says that there is no place while there is none", () =>
    Effect.gen(function* () {
      const { isFull, push } = yield* make({ queue: 4, batch: 2 }, Effect.never)
      assert.isFalse(isFull())
      push(1, 2)
      yield* TestClock.adjust(0)
      push(3, 4, 5)
      assert.isFalse(isFull())
      push(6)
      assert.isTrue(isFull())
    })
  )

  it.effect("is sent together after a while, or as soon as there is enough of it", () =>
    Effect.gen(function* () {
      const { push, sent } = yield* make({ queue: 100, batch: 3 }, Effect.succeed(taken))
      push(1, 2)
      yield* TestClock.adjust(999)
      assert.deepStrictEqual(sent, [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(sent, ["1 2"])
      push(3, 4, 5, 6, 7, 8, 9)
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(sent, ["1 2", "3 4 5", "6 7 8"])
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(sent.at(-1), "9")
    })
  )

  it.effect("is tried five times, with growing pauses, and dropped then", () =>
    Effect.gen(function* () {
      const { dropped, push, sent } = yield* make({ queue: 100, batch: 1 }, Effect.succeed(away()))
      push(1)
      yield* TestClock.adjust(0)
      for (const [index, millis] of [1000, 2000, 4000, 8000].entries()) {
        yield* TestClock.adjust(millis - 1)
        assert.strictEqual(sent.length, index + 1)
        yield* TestClock.adjust(1)
        assert.strictEqual(sent.length, index + 2)
      }
      assert.strictEqual(yield* dropped, 1)
      push(2)
      yield* TestClock.adjust(0)
      assert.strictEqual(sent.at(-1), "2")
    })
  )

  it.effect("is tried again when the collector says so", () =>
    Effect.gen(function* () {
      const { dropped, push, sent } = yield* make(
        { queue: 100, batch: 1 },
        Effect.succeed(away(7000)),
        Effect.succeed(taken)
      )
      push(1)
      yield* TestClock.adjust(6999)
      assert.strictEqual(sent.length, 1)
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(sent, ["1", "1"])
      assert.strictEqual(yield* dropped, 0)
    })
  )

  it.effect("is dropped at once where the collector will not have it", () =>
    Effect.gen(function* () {
      const { dropped, push, sent } = yield* make(
        { queue: 100, batch: 2 },
        Effect.succeed(refused),
        Effect.succeed(taken)
      )
      push(1, 2, 3, 4)
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(sent, ["1 2", "3 4"])
      assert.strictEqual(yield* dropped, 2)
    })
  )

  it.effect("is no more than has a place, however long the collector is silent", () =>
    Effect.gen(function* () {
      const { dropped, push } = yield* make({ queue: 10, batch: 5 }, Effect.never)
      push(1, 2, 3, 4, 5)
      yield* TestClock.adjust(0)
      for (let item = 0; item < 1000; item++) push(item)
      assert.strictEqual(yield* dropped, 990)
      const large = yield* make({ queue: 10, batch: 5 }, Effect.never)
      large.pushLarge(1, 16 * 1024 * 1024)
      yield* TestClock.adjust(0)
      large.pushLarge(2, 9 * 1024 * 1024)
      large.pushLarge(3, 9 * 1024 * 1024)
      assert.strictEqual(yield* large.dropped, 1)
    })
  )

  it.effect("goes in no more than two million letters at once, but one at least", () =>
    Effect.gen(function* () {
      const { pushLarge, sent } = yield* make({ queue: 100, batch: 50 }, Effect.succeed(taken))
      pushLarge(1, 1_500_000)
      pushLarge(2, 1_500_000)
      pushLarge(3, 3_000_000)
      pushLarge(4, 1)
      yield* TestClock.adjust(1000)
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(sent, ["1", "2", "3", "4"])
    })
  )

  it.effect("is sent at once when the service stops", () =>
    Effect.gen(function* () {
      const { close, dropped, push, sent } = yield* make({ queue: 100, batch: 2 }, Effect.succeed(taken))
      push(1)
      yield* close
      assert.deepStrictEqual(sent, ["1"])
      push(2)
      assert.strictEqual(yield* dropped, 1)
    })
  )

  it.effect("ends with the first that is not taken when the service stops, also in a pause", () =>
    Effect.gen(function* () {
      const { close, dropped, push, sent } = yield* make(
        { queue: 100, batch: 2 },
        Effect.succeed(away(60_000))
      )
      push(1, 2, 3, 4, 5)
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(sent, ["1 2"])
      yield* close
      assert.deepStrictEqual(sent, ["1 2", "1 2"])
      assert.strictEqual(yield* dropped, 5)
    })
  )

  it.effect("holds up the end of the service for its time and no longer", () =>
    Effect.gen(function* () {
      const { close, dropped, push } = yield* make({ queue: 100, batch: 2 }, Effect.never)
      push(1, 2, 3)
      yield* TestClock.adjust(0)
      const closing = yield* Effect.forkChild(close)
      yield* TestClock.adjust(3000)
      yield* Effect.map(
        Effect.sync(() => closing.pollUnsafe()),
        (exit) => assert.isDefined(exit)
      )
      assert.strictEqual(yield* dropped, 3)
    })
  )
})
