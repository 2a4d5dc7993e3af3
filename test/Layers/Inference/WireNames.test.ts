import type { ServerResponse } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { InferenceRequest } from "../../../src/Schemas/Inference.ts"
import {
  ask,
  makeModel,
  makeOpenAi,
  makeServer,
  protocols,
  type Received,
  says,
  weather
} from "../../support/Models.ts"
import { wire } from "../../support/ModelWire.ts"
import { gemini, openAi } from "../../support/Thinking.ts"

const long = "c".repeat(300)
const made: ReadonlyArray<readonly [id: string, name: string]> = [
  [long, "functions.recall"],
  [`${long}d`, "rec all ü"],
  ["functions.x:0", "rec all ä"],
  ["fine_1", ""],
  ["fine-2", "weather"]
]

const request: InferenceRequest = {
  system: null,
  tools: [weather],
  messages: [
    { role: "user", content: "hi" },
    { role: "assistant", content: "", toolCalls: made.map(([id, name]) => ({ id, name, arguments: {} })) },
    {
      role: "tool",
      results: made.map(([id, name], index) => ({ id, name, result: index, isError: false, durationMs: 1 }))
    }
  ]
}

const ids = {
  openai: /^[\x21-\x7e]{1,40}$/,
  "openai-compatible": /^[\x21-\x7e]{1,40}$/,
  anthropic: /^[a-zA-Z0-9_-]{1,64}$/,
  google: /^[\x21-\x7e]{1,64}$/
}
const names = {
  openai: /^[a-zA-Z0-9_-]{1,64}$/,
  "openai-compatible": /^[a-zA-Z0-9_-]{1,64}$/,
  anthropic: /^[a-zA-Z0-9_-]{1,128}$/,
  google: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/
}

describe.each(protocols)("calls that %s would not take", (protocol) => {
  it.live("are shown to it as it takes them, with their results", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(says(protocol, "ok"))
      const { error } = yield* ask(yield* makeModel(protocol, url), request)
      assert.isNull(error)
      const { calls, results } = wire[protocol]
      const shown = calls(received[0]?.body)
      assert.strictEqual(shown.length, made.length)
      for (const [id, name] of shown) {
        assert.match(id, ids[protocol])
        assert.match(name, names[protocol])
      }
      assert.strictEqual(new Set(shown.map(([id]) => id)).size, made.length)
      assert.strictEqual(new Set(shown.map(([, name]) => name)).size, made.length)
      assert.deepStrictEqual(
        results(received[0]?.body).map(([id]) => id),
        shown.map(([id]) => id)
      )
      assert.deepStrictEqual(shown.at(-1)?.slice(0, 2), ["fine-2", "weather"])
    })
  )
})

describe("calls that OpenAI would not take", () => {
  it.live("are shown to it as it takes them, with their results", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(openAi.says("ok"))
      const { error } = yield* ask(yield* makeOpenAi(url), request)
      assert.isNull(error)
      const input: ReadonlyArray<Record<string, string>> = received[0]?.body.input
      const shown = input.filter(({ type }) => type === "function_call")
      assert.strictEqual(shown.length, made.length)
      for (const { call_id, name } of shown) {
        assert.match(call_id ?? "", /^[a-zA-Z0-9_-]{1,40}$/)
        assert.match(name ?? "", /^[a-zA-Z0-9_-]{1,64}$/)
      }
      assert.deepStrictEqual(
        input.filter(({ type }) => type === "function_call_output").map(({ call_id }) => call_id),
        shown.map(({ call_id }) => call_id)
      )
    })
  )
})

describe("tools whose names Gemini would not take", () => {
  it.live("are shown to it under others, and told as they are called", () =>
    Effect.gen(function* () {
      const answer = (name: string) => gemini({ functionCall: { name, args: {} } })
      const { received, url } = yield* makeServer((response: ServerResponse, received: Received) =>
        answer(received.body.tools[0].functionDeclarations[0].name)(response, received)
      )
      const tools = [{ ...weather, name: "7shifts__list" }]
      const { calls, error } = yield* ask(yield* makeModel("google", url), {
        system: null,
        messages: [{ role: "user", content: "hi" }],
        tools
      })
      assert.isNull(error)
      assert.match(received[0]?.body.tools[0].functionDeclarations[0].name, names.google)
      assert.strictEqual(calls[0]?.name, "7shifts__list")
    })
  )
})
