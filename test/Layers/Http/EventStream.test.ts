import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { eventStream, resumedEventStream } from "../../../src/Layers/Http/EventStream.ts"
import { type NumberedEvent, thinking } from "../../../src/Schemas/RunEvent.ts"
import { withSettableClock } from "../../support/Clocks.ts"

/** What has gone out so far. */
const reading = Effect.fnUntraced(function* (body: Stream.Stream<Uint8Array>) {
  const sent: Array<string> = []
  yield* Effect.forkChild(
    Stream.runForEach(body, (bytes) => Effect.sync(() => void sent.push(new TextDecoder().decode(bytes)))),
    { startImmediately: true }
  )
  yield* TestClock.adjust(0)
  return sent
})

const comment = ":\n\n"
const told: NumberedEvent = { id: 7, event: thinking }
const toldFrame = 'id: 7\nevent: status\ndata: {"status":"thinking"}\n\n'

describe("a stream of events", () => {
  it.effect("that is taken up again begins before there is anything to tell", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* reading(resumedEventStream(Stream.never, 3)), [comment])
      assert.deepStrictEqual(yield* reading(eventStream(Stream.never)), [])
    })
  )

  it.effect("has a comment after each 10 s of silence", () =>
    Effect.gen(function* () {
      const late = Stream.fromEffect(Effect.as(Effect.sleep("25 seconds"), told))
      const sent = yield* reading(eventStream(Stream.concat(late, Stream.never)))
      yield* TestClock.adjust(9_999)
      assert.deepStrictEqual(sent, [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(sent, [comment])
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(sent, [comment, comment])
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(sent, [comment, comment, toldFrame])
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(sent.slice(3), [comment])
    })
  )

  it.effect("has its comments also where the time of day is set back", () =>
    withSettableClock((set) =>
      Effect.gen(function* () {
        yield* TestClock.adjust("1 hour")
        const sent = yield* reading(eventStream(Stream.never))
        yield* TestClock.adjust("5 seconds")
        yield* set(-3_600_000)
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual(sent, [comment])
      })
    )
  )

  it.effect("says nothing of a defect, and has the id of the event before", () =>
    Effect.gen(function* () {
      const broken = Stream.concat(Stream.succeed(told), Stream.die(new Error("secret")))
      const sent = yield* reading(eventStream(broken))
      assert.deepStrictEqual(sent, [
        toldFrame,
        'id: 7\nevent: error\ndata: {"error":"internal error","code":"internal_error"}\n\n'
      ])
    })
  )
})
