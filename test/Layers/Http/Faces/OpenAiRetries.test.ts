import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type OpenAI from "openai"
import { InferenceError } from "../../../../src/Schemas/Inference.ts"
import { retryMillis } from "../../../../src/Services/Retries.ts"
import { makeOpenAi } from "../../../support/OpenAiClient.ts"
import { layerScripted, makeGate, says } from "../../../support/Service.ts"
import { eventually } from "../../../support/Until.ts"

const hello: OpenAI.Chat.ChatCompletionCreateParamsNonStreaming = {
  model: "default",
  messages: [{ role: "user", content: "hello" }]
}

const subject = Effect.gen(function* () {
  const openAi = yield* makeOpenAi
  const { model, send, token } = openAi
  const sent = (count: number | undefined, json: object = hello, headers: Record<string, string> = {}) =>
    send("POST", "/v1/chat/completions", {
      token,
      json,
      headers: { ...headers, ...(count !== undefined && { "x-stainless-retry-count": String(count) }) }
    })
  const id = (answer: { readonly body: unknown }) => (answer.body as { readonly id: string }).id
  const numbered = () => {
    model.script = () => Stream.fromIterable(says(`answer ${model.requests.length}`))
  }
  numbered()
  return { ...openAi, id, numbered, sent }
})

describe("a request that OpenAI's client sends again by itself", () => {
  it.effect("is answered out of the first turn, which other first requests never are", () =>
    Effect.gen(function* () {
      const { id, model, sent } = yield* subject
      const first = yield* sent(0)
      const again = yield* sent(1)
      assert.deepStrictEqual(again.body, first.body)
      assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
      assert.isNull(first.headers.get("idempotency-replayed"))
      assert.strictEqual(id(yield* sent(2)), id(first))
      assert.lengthOf(model.requests, 1)
      // The same by intent, a request that counts nothing, others, and one that is asked elsewhere.
      const anew = yield* sent(0)
      assert.notStrictEqual(id(anew), id(first))
      assert.strictEqual(id(yield* sent(1)), id(anew))
      assert.notStrictEqual(id(yield* sent(undefined)), id(anew))
      assert.notStrictEqual(id(yield* sent(1, { ...hello, temperature: 1 })), id(anew))
      assert.strictEqual(model.requests.length, 4)
      // Its members in another order are the same body.
      assert.strictEqual(id(yield* sent(1, { messages: hello.messages, model: hello.model })), id(anew))
      assert.strictEqual(model.requests.length, 4)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("waits for the turn that is under way", () =>
    Effect.gen(function* () {
      const { id, model, sent } = yield* subject
      const gate = yield* makeGate
      model.script = () => Stream.unwrap(Effect.as(gate.wait, Stream.fromIterable(says("late"))))
      const first = yield* Effect.forkChild(sent(0))
      yield* eventually(
        Effect.sync(() => model.requests.length === 1),
        "the first is asked"
      )
      const again = yield* Effect.forkChild(sent(1))
      yield* gate.open
      assert.strictEqual(id(yield* Fiber.join(again)), id(yield* Fiber.join(first)))
      assert.lengthOf(model.requests, 1)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("goes on with a turn whose client went away", () =>
    Effect.gen(function* () {
      const { fetch, id, model, sent, token } = yield* subject
      const gate = yield* makeGate
      model.script = () => Stream.unwrap(Effect.as(gate.wait, Stream.fromIterable(says("late"))))
      const gone = new AbortController()
      const first = fetch("http://agentd.test/v1/chat/completions", {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          "x-stainless-retry-count": "0"
        },
        body: JSON.stringify(hello),
        signal: gone.signal
      }).catch(() => undefined)
      yield* eventually(
        Effect.sync(() => model.requests.length === 1),
        "the first is asked"
      )
      gone.abort()
      yield* Effect.promise(() => first)
      yield* gate.open
      const again = yield* sent(1)
      assert.strictEqual(again.status, 200, again.text)
      assert.match(id(again), /^chatcmpl-/)
      assert.include(again.text, '"late"')
      assert.lengthOf(model.requests, 1)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("begins anew where the first turn gave no answer, or the first request was refused", () =>
    Effect.gen(function* () {
      const { model, numbered, sent } = yield* subject
      model.script = () => Stream.fail(new InferenceError({ reason: "authentication", error: "no key" }))
      assert.strictEqual((yield* sent(0)).status, 500)
      numbered()
      const again = yield* sent(1)
      assert.strictEqual(again.status, 200, again.text)
      assert.include(again.text, "answer 2")

      const stranger = { ...hello, model: "nobody" }
      assert.strictEqual((yield* sent(0, stranger)).status, 404)
      assert.strictEqual((yield* sent(1, stranger)).status, 404)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("is known for some minutes, and of no other user or workspace", () =>
    Effect.gen(function* () {
      const { id, model, sent, workspaceId } = yield* subject
      const first = yield* sent(0)
      yield* TestClock.adjust(retryMillis - 1)
      assert.strictEqual(id(yield* sent(1)), id(first))
      yield* TestClock.adjust(retryMillis - 1)
      assert.strictEqual(id(yield* sent(2)), id(first))
      assert.notStrictEqual(id(yield* sent(1, hello, { "x-workspace-id": workspaceId })), id(first))
      assert.lengthOf(model.requests, 2)
      yield* TestClock.adjust(retryMillis)
      assert.notStrictEqual(id(yield* sent(3)), id(first))
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("has its key, where the client gives one", () =>
    Effect.gen(function* () {
      const { id, model, sent, workspaceId } = yield* subject
      const key = { "idempotency-key": "k" }
      const first = yield* sent(0, hello, key)
      const again = yield* sent(0, hello, key)
      assert.strictEqual(id(again), id(first))
      assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
      const streamed = yield* sent(undefined, { ...hello, stream: true }, key)
      assert.strictEqual(streamed.status, 409)
      assert.strictEqual(streamed.headers.get("x-should-retry"), "false")
      // What is asked elsewhere is another request.
      const elsewhere = yield* sent(0, hello, { ...key, "x-workspace-id": workspaceId })
      assert.strictEqual(elsewhere.status, 409, elsewhere.text)
      assert.lengthOf(model.requests, 1)
    }).pipe(Effect.provide(layerScripted()))
  )
})
