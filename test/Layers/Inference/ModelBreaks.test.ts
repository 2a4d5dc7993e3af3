import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { InferenceEvent } from "../../../src/Schemas/Inference.ts"
import {
  type Answer,
  ask,
  begins,
  makeHaste,
  makeMock,
  makeModel,
  makeServer,
  type Protocol,
  protocols,
  requestOf,
  says,
  textChunk
} from "../../support/Models.ts"
import { thinkingChunk } from "../../support/Thinking.ts"
import { eventually, pause } from "../../support/Until.ts"

const filtered: Readonly<Record<Protocol, string>> = {
  openai: "content_filter",
  "openai-compatible": "content_filter",
  anthropic: "refusal",
  google: "SAFETY"
}

/** What fails within the stream, as each provider says it. */
const broken: Readonly<Record<Protocol, string>> = {
  openai: 'data: {"error":{"message":"The server had an error","type":"server_error","code":null}}\n\n',
  "openai-compatible": 'data: {"error":{"message":"The server had an error","type":"server_error"}}\n\n',
  anthropic:
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
  google: 'data: {"error":{"code":503,"message":"The model is overloaded","status":"UNAVAILABLE"}}\n\n'
}

const idleMillis = 60_000

const socketClosed = (received: ReadonlyArray<{ readonly closed: Promise<void> }>) =>
  Effect.promise(() => received[0]?.closed ?? Promise.reject(new Error("nothing was asked")))

describe.each(protocols)("the answer of %s", (protocol) => {
  it.live("that the content filter stops is no success", () =>
    Effect.gen(function* () {
      const mock = yield* makeMock
      mock.on({}, { content: "Once upon", finishReason: filtered[protocol] })
      const told = yield* ask(yield* makeModel(protocol, mock.url))
      assert.strictEqual(told.text.join(""), "Once upon")
      assert.deepStrictEqual(told.usage, [])
      assert.strictEqual(told.reason, "content_filter")
      assert.strictEqual(mock.getRequests().length, 1)
    })
  )

  it.live("that stops at its limit of tokens says so, with what it cost", () =>
    Effect.gen(function* () {
      const mock = yield* makeMock
      const usage = { prompt_tokens: 11, completion_tokens: 7 }
      mock.on({}, { content: "Once upon", finishReason: "length", usage })
      const told = yield* ask(yield* makeModel(protocol, mock.url))
      assert.isNull(told.error, told.shown)
      assert.strictEqual(told.text.join(""), "Once upon")
      const end = told.events.at(-1)
      assert.isTrue(
        end?.type === "finish" && end.truncated === "the model stopped at its limit of output tokens"
      )
      assert.deepStrictEqual(told.usage, [{ inputTokens: 11, outputTokens: 7 }])
      assert.strictEqual(mock.getRequests().length, 1)
    })
  )

  it.live("whose connection is cut is cut off, and not asked for again", () =>
    Effect.gen(function* () {
      const mock = yield* makeMock
      mock.on({}, { content: "Once upon a time" }, { chunkSize: 4, truncateAfterChunks: 4, latency: 20 })
      const told = yield* ask(yield* makeModel(protocol, mock.url))
      assert.match(told.text.join(""), /^Once/)
      assert.deepStrictEqual(told.usage, [])
      assert.strictEqual(told.reason, "truncated", told.shown)
      assert.strictEqual(mock.getRequests().length, 1)
    })
  )

  it.live("whose connection is cut before anything came is asked for again", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(
        begins(": ping\n\n", (response) => void response.destroy()),
        says(protocol, "ok")
      )
      const told = yield* ask(yield* makeModel(protocol, url))
      assert.isNull(told.error, told.shown)
      assert.deepStrictEqual(told.text, ["ok"])
      assert.strictEqual(received.length, 2)
    })
  )

  it.live("whose connection is cut while it only thinks is asked for again", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(
        begins(thinkingChunk(protocol), (response) => void response.destroy()),
        says(protocol, "ok")
      )
      const { hasten } = yield* makeHaste
      const told = yield* hasten(ask(yield* makeModel(protocol, url)))
      assert.isNull(told.error, told.shown)
      assert.deepStrictEqual(told.text, ["ok"])
      assert.strictEqual(received.length, 2)
    })
  )

  it.live("that stops without an ending is cut off", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(
        begins(textChunk(protocol, "Once"), (response) => void response.end())
      )
      const told = yield* ask(yield* makeModel(protocol, url))
      assert.deepStrictEqual(told.text, ["Once"])
      assert.deepStrictEqual(told.usage, [], JSON.stringify(told.events))
      assert.include([null, "truncated"], told.reason, told.shown)
      assert.strictEqual(received.length, 1)
    })
  )

  it.live("that fails after some text is not asked for again", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(
        begins(textChunk(protocol, "Once") + broken[protocol], (response) => void response.end())
      )
      const told = yield* ask(yield* makeModel(protocol, url))
      assert.deepStrictEqual(told.text, ["Once"])
      assert.deepStrictEqual(told.usage, [])
      assert.strictEqual(told.reason, "overloaded", told.shown)
      assert.strictEqual(received.length, 1)
    })
  )

  it.live.each(["<html>It works!</html>", '{"hello":"world"}', "data: {oops\n\n", 'data: {"x":1}\n\n', ""])(
    "can't be read when it is %j",
    (bytes) =>
      Effect.gen(function* () {
        const garbage: Answer = (response) => {
          response.writeHead(200, { "content-type": "text/event-stream" }).end(bytes)
        }
        const { received, url } = yield* makeServer(garbage)
        const { hasten } = yield* makeHaste
        const told = yield* hasten(ask(yield* makeModel(protocol, url, 60_000)))
        assert.deepStrictEqual(told.events, [])
        assert.strictEqual(told.reason, "unknown", told.shown)
        assert.strictEqual(received.length, 1)
      })
  )

  it.live("that becomes unreadable after some text is no success", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(
        begins(`${textChunk(protocol, "Once")}data: {oops\n\n`, (response) => void response.end())
      )
      const told = yield* ask(yield* makeModel(protocol, url))
      assert.deepStrictEqual(told.usage, [])
      assert.strictEqual(told.reason, "unknown", told.shown)
      assert.strictEqual(received.length, 1)
    })
  )

  it.effect.each(["headers", "text"])("that is silent after its %s is given up", (after) =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(
        begins(after === "text" ? textChunk(protocol, "Once") : ": ping\n\n")
      )
      let pieces = 0
      const model = yield* makeModel(protocol, url, idleMillis, () => pieces++)
      const events: Array<InferenceEvent> = []
      const asking = yield* Effect.forkChild(ask(model, requestOf("hello"), events))
      yield* eventually(
        Effect.sync(() => pieces > 0 && (after === "headers" || events.length > 0)),
        "it has begun"
      )
      yield* TestClock.adjust(idleMillis - 1)
      yield* pause
      assert.isUndefined(asking.pollUnsafe())
      yield* TestClock.adjust(1)
      const told = yield* Fiber.join(asking)
      assert.deepStrictEqual(told.text, after === "text" ? ["Once"] : [])
      assert.strictEqual(told.reason, "timeout")
      assert.strictEqual(received.length, 1)
      yield* socketClosed(received)
    })
  )

  it.effect("that never begins is given up", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(() => undefined)
      const asking = yield* Effect.forkChild(ask(yield* makeModel(protocol, url, idleMillis)))
      yield* eventually(
        Effect.sync(() => received.length > 0),
        "it was asked"
      )
      yield* TestClock.adjust(idleMillis)
      assert.strictEqual((yield* Fiber.join(asking)).reason, "timeout")
      assert.strictEqual(received.length, 1)
      yield* socketClosed(received)
    })
  )

  it.live("is given up when its reader has seen enough, and the connection closes", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(begins(textChunk(protocol, "Once")))
      const model = yield* makeModel(protocol, url)
      yield* Stream.runDrain(Stream.take(model(requestOf("hi")), 1))
      yield* socketClosed(received)
    })
  )

  it.live.each(["headers", "text"])("is cancelled after its %s, and the connection closes", (after) =>
    Effect.gen(function* () {
      const begun = Promise.withResolvers<void>()
      const { received, url } = yield* makeServer(
        after === "text" ? begins(textChunk(protocol, "Once")) : () => begun.resolve()
      )
      const model = yield* makeModel(protocol, url)
      const reading = yield* Effect.forkChild(
        Stream.runForEach(model(requestOf("hi")), () => Effect.sync(begun.resolve))
      )
      yield* Effect.promise(() => begun.promise)
      yield* Fiber.interrupt(reading)
      yield* socketClosed(received)
    })
  )
})

describe("the answer of google", () => {
  it.live("to a question that is blocked is a matter of the content filter", () =>
    Effect.gen(function* () {
      const { url } = yield* makeServer(
        begins('data: {"promptFeedback":{"blockReason":"SAFETY"}}\n\n', (response) => void response.end())
      )
      assert.strictEqual((yield* ask(yield* makeModel("google", url))).reason, "content_filter")
    })
  )
})
