import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { eventStream } from "../../src/Layers/Http/EventStream.ts"
import type { MessageId } from "../../src/Schemas/Ids.ts"
import type { InferenceRequest } from "../../src/Schemas/Inference.ts"
import { type NumberedEvent, type RunEvent, responding, thinking } from "../../src/Schemas/RunEvent.ts"
import { askModel } from "../../src/Services/Engine/AskModel.ts"
import * as LiveEvents from "../../src/Services/Engine/LiveEvents.ts"
import { Settings } from "../../src/Services/Settings.ts"
import { timersOf } from "../../src/Services/Silence.ts"
import { makeModel, textChunk } from "../support/Models.ts"

const messageId = "msg_0123456789abcdef" as MessageId
const request: InferenceRequest = {
  system: null,
  messages: [{ role: "user", content: "hello" }],
  tools: []
}
const tokens = Array.from({ length: 1_000 }, (_, n) => `w${n} `)
const end = `${textChunk("openai-compatible", "").replace('"finish_reason":null', '"finish_reason":"stop"')}data: [DONE]\n\n`

const answering = (pieces: ReadonlyArray<string>): typeof globalThis.fetch =>
  (async () =>
    new Response(pieces.map((piece) => textChunk("openai-compatible", piece)).join("") + end, {
      headers: { "content-type": "text/event-stream" }
    })) as typeof globalThis.fetch

/** A clock that counts what it is asked to sleep. */
const withCountedSleeps = <A, E, R>(use: (sleeps: () => number) => Effect.Effect<A, E, R>) =>
  Clock.clockWith((clock) => {
    let sleeps = 0
    const counted: Clock.Clock = Object.assign(Object.create(clock), {
      sleep: (duration: Parameters<Clock.Clock["sleep"]>[0]) => {
        sleeps++
        return clock.sleep(duration)
      }
    })
    return Effect.provideService(
      use(() => sleeps),
      Clock.Clock,
      counted
    )
  })

describe("a thousand tokens that are ready together", () => {
  it.live("are told in a tenth as many events at most, and say what the model said", () =>
    Effect.gen(function* () {
      const stream = yield* makeModel("openai-compatible", "http://x.test", 60_000, undefined, {
        fetch: answering(tokens)
      })
      const told: Array<RunEvent> = []
      yield* askModel(
        {
          model: Effect.succeed({
            answeredBy: { provider: "openai", model: "m" } as never,
            pricing: null,
            stream
          }),
          request,
          room: 1_000_000,
          thinking,
          messageId,
          isHeld: false,
          emit: (event) => Effect.sync(() => void told.push(event))
        },
        Settings.defaults
      )
      const deltas = told.flatMap(({ data }) => ("delta" in data ? [data.delta] : []))
      assert.strictEqual(deltas.join(""), tokens.join(""))
      assert.isAtMost(deltas.length, tokens.length / 10)
    })
  )

  it.effect("are written once, in 40 bytes a token", () =>
    Effect.gen(function* () {
      const live = yield* LiveEvents.make
      for (const [n, token] of tokens.entries()) {
        yield* live.offer({ id: n + 1, event: responding(messageId, token) })
      }
      yield* live.end
      const writes: Array<string> = []
      yield* Stream.runForEachArray(eventStream(live.stream), (chunks) =>
        Effect.sync(() => void writes.push(Buffer.concat(chunks).toString()))
      )
      assert.strictEqual(writes.length, 1)
      const deltas = writes
        .join("")
        .split("\n")
        .flatMap((line) => (line.startsWith("data: ") ? [JSON.parse(line.slice(6)).delta] : []))
      assert.strictEqual(deltas.join(""), tokens.join(""))
      assert.isAtMost(writes.join("").length / tokens.length, 40)
    })
  )
})

describe("many streams", () => {
  it.effect("have one timer for their silence together, and none for what they tell", () =>
    withCountedSleeps((sleeps) =>
      Effect.gen(function* () {
        const clock = yield* Clock.Clock
        const told: NumberedEvent = { id: 1, event: thinking }
        const streams = yield* Effect.forEach(Array.from({ length: 100 }), () => LiveEvents.make)
        const reading = yield* Effect.forEach(streams, ({ stream }) =>
          Effect.forkChild(Stream.runDrain(eventStream(stream)), { startImmediately: true })
        )
        assert.strictEqual(timersOf(clock), 1)
        const before = sleeps()
        for (const { offer } of streams) for (let n = 0; n < 100; n++) yield* offer(told)
        assert.strictEqual(sleeps(), before)
        assert.isAtMost(sleeps(), 1)
        for (const { end } of streams) yield* end
        yield* Fiber.joinAll(reading)
        assert.strictEqual(timersOf(clock), 0)
      })
    )
  )
})
