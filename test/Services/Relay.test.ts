import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Stream from "effect/Stream"
import { type NumberedEvent, responding } from "../../src/Schemas/RunEvent.ts"
import * as LiveEvents from "../../src/Services/Engine/LiveEvents.ts"
import { type Aside, continued, relayed } from "../../src/Services/Relay.ts"

const told = (id: number): NumberedEvent => ({ id, event: responding(null, `${id}`) })
const ids = (events: ReadonlyArray<NumberedEvent>) => events.map(({ id }) => id)

/** Relays of a relay, each with its aside. */
const twice = <A>(source: Stream.Stream<A>) => {
  const asides: Array<Aside<A>> = []
  const taken: Array<A> = []
  const keep = (aside: Aside<A>) => Effect.sync(() => void asides.push(aside))
  const inner = relayed(source, keep, (batch) => void taken.push(...batch))
  return { asides, taken, stream: relayed(inner, keep) }
}

const reading = Effect.fnUntraced(function* <A>(stream: Stream.Stream<A>) {
  const seen: Array<A> = []
  const fiber = yield* Effect.forkChild(
    Stream.runForEach(stream, (value) => Effect.sync(() => void seen.push(value))),
    { startImmediately: true }
  )
  return { seen, fiber }
})

describe("A relay of a relay", () => {
  it.effect("hands on within what tells, and what is said by either", () =>
    Effect.gen(function* () {
      const live = yield* LiveEvents.make
      const { asides, stream, taken } = twice(live.stream)
      yield* live.offer(told(1))
      const { fiber, seen } = yield* reading(stream)
      assert.deepStrictEqual(ids(seen), [1])
      yield* live.offer(told(2))
      asides[0]?.say(told(100))
      asides[1]?.say(told(101))
      assert.deepStrictEqual(ids(seen), [1, 2, 100, 101])
      // What is said in between is none of the stream.
      assert.deepStrictEqual(ids(taken), [1, 2])
      yield* live.offer(told(3))
      yield* live.end
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(ids(seen), [1, 2, 100, 101, 3])
    })
  )

  it.effect("that is closed hands on nothing else, whatever is told", () =>
    Effect.gen(function* () {
      const live = yield* LiveEvents.make
      const { asides, stream } = twice(live.stream)
      const { fiber, seen } = yield* reading(stream)
      yield* live.offer(told(1))
      asides[1]?.close(told(50))
      yield* live.offer(told(2))
      yield* live.end
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(ids(seen), [1, 50])
    })
  )

  it.effect("that is closed before it is read gives the last alone", () =>
    Effect.gen(function* () {
      const live = yield* LiveEvents.make
      yield* live.offer(told(1))
      const stream = relayed(
        relayed(live.stream, ({ close }) => Effect.sync(() => close(told(50)))),
        () => Effect.void
      )
      assert.deepStrictEqual(ids(yield* Stream.runCollect(stream)), [50])
    })
  )
})

describe("A stream that is continued", () => {
  it.effect("goes on behind the last that was told, in its order, with one that is no feed", () =>
    Effect.gen(function* () {
      const live = yield* LiveEvents.make
      const { stream } = twice(
        continued(live.stream, (last) => Stream.make(told((last?.id ?? 0) + 1), told((last?.id ?? 0) + 2)))
      )
      const { fiber, seen } = yield* reading(stream)
      yield* live.offer(told(1))
      yield* live.offer(told(7))
      yield* live.end
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(ids(seen), [1, 7, 8, 9])
    })
  )

  it.effect("goes on also behind what nobody had taken yet, and where nothing was told", () =>
    Effect.gen(function* () {
      const some = yield* LiveEvents.make
      for (const id of [1, 2]) yield* some.offer(told(id))
      yield* some.end
      const next = (last: NumberedEvent | undefined) => Stream.make(told((last?.id ?? 0) + 10))
      assert.deepStrictEqual(ids(yield* Stream.runCollect(continued(some.stream, next))), [1, 2, 12])
      const none = yield* LiveEvents.make
      yield* none.end
      assert.deepStrictEqual(ids(yield* Stream.runCollect(continued(none.stream, next))), [10])
      const read = continued(Stream.make(told(3)), next)
      assert.deepStrictEqual(ids(yield* Stream.runCollect(read)), [3, 13])
    })
  )

  it.effect("goes on behind what a reader that is busy has not taken", () =>
    Effect.gen(function* () {
      const live = yield* LiveEvents.make
      const isFree = Latch.makeUnsafe(false)
      const stream = continued(live.stream, (last) => Stream.make(told((last?.id ?? 0) + 10)))
      const { fiber, seen } = yield* reading(Stream.tap(stream, () => isFree.await))
      for (const id of [1, 2]) yield* live.offer(told(id))
      yield* live.end
      for (let n = 0; n < 5; n++) yield* Effect.yieldNow
      isFree.openUnsafe()
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(ids(seen), [1, 2, 12])
    })
  )

  it.effect("fails as the first does", () =>
    Effect.gen(function* () {
      const stream = continued(Stream.die("broken"), () => Stream.make(told(1)))
      const exit = yield* Effect.exit(Stream.runDrain(stream))
      assert.strictEqual(exit._tag, "Failure")
    })
  )
})
