import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import {
  ask,
  makeHaste,
  makeOpenAi,
  makeServer,
  makeTapped,
  refuses,
  requestOf,
  secretKey,
  weather
} from "../../support/Models.ts"
import { openAi } from "../../support/Thinking.ts"

const usage = { prompt_tokens: 11, completion_tokens: 7 }

describe("OpenAI itself", () => {
  it.live("streams text, and is asked for with a key, system and tools", () =>
    Effect.gen(function* () {
      const { mock, received, url } = yield* makeTapped
      mock.on({}, { content: "The sky is blue.", usage }, { chunkSize: 4 })
      const request = requestOf("hello", { system: "Be brief.", tools: [weather] })
      const told = yield* ask(yield* makeOpenAi(url), request)
      assert.isNull(told.error, told.shown)
      assert.strictEqual(told.text.join(""), "The sky is blue.")
      assert.deepStrictEqual(told.usage, [{ inputTokens: 11, outputTokens: 7 }])
      const [{ body, headers, path } = assert.fail()] = received
      assert.strictEqual(path, "/v1/responses")
      assert.strictEqual(headers.authorization, `Bearer ${secretKey}`)
      assert.deepInclude(body.input[0], { role: "system", content: "Be brief." })
      assert.deepInclude(body.tools[0], { type: "function", name: "weather", strict: false })
      assert.deepStrictEqual(body.tools[0].parameters, weather.parameters)
    })
  )

  it.live("tells calls with their arguments", () =>
    Effect.gen(function* () {
      const { mock, url } = yield* makeTapped
      const toolCalls = ["Oslo", "Rome"].map((city) => ({
        name: "weather",
        arguments: JSON.stringify({ city })
      }))
      mock.on({}, { toolCalls, usage })
      const called = yield* ask(yield* makeOpenAi(url), requestOf("hello", { tools: [weather] }))
      assert.isNull(called.error, called.shown)
      assert.deepStrictEqual(
        called.calls.map((call) => call.arguments),
        [{ city: "Oslo" }, { city: "Rome" }]
      )
    })
  )

  it.live("says that an answer stopped at its limit, and what it cost", () =>
    Effect.gen(function* () {
      const { url } = yield* makeServer(openAi.stops("Once upon"))
      const told = yield* ask(yield* makeOpenAi(url))
      assert.isNull(told.error, told.shown)
      assert.deepStrictEqual(told.text, ["Once upon"])
      const end = told.events.at(-1)
      assert.isTrue(end?.type === "finish" && end.truncated !== undefined, JSON.stringify(end))
      assert.deepStrictEqual(told.usage, [{ inputTokens: 3, outputTokens: 1 }])
    })
  )

  it.live.each([
    ["authentication", 401, { message: "Incorrect API key provided.", code: "invalid_api_key" }],
    ["quota_exceeded", 429, { message: "You exceeded your current quota.", code: "insufficient_quota" }],
    [
      "context_length",
      400,
      { message: "Your input exceeds the context window.", code: "context_length_exceeded" }
    ],
    ["bad_request", 400, { message: "Unknown parameter." }]
  ] as const)("refuses: %s", ([reason, status, error]) =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(refuses("openai", status, error))
      const told = yield* ask(yield* makeOpenAi(url))
      assert.strictEqual(told.reason, reason, told.shown)
      assert.notInclude(told.shown, secretKey)
      assert.strictEqual(received.length, 1)
    })
  )

  it.live("is asked again where it fails before anything was said, and is cut off after that", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(openAi.fails(""), openAi.fails("Once"))
      const { hasten } = yield* makeHaste
      const told = yield* hasten(ask(yield* makeOpenAi(url)))
      assert.strictEqual(told.reason, "overloaded", told.shown)
      assert.deepStrictEqual(told.text, ["Once"])
      assert.strictEqual(received.length, 2)
      const cut = yield* makeServer(openAi.breaks("Once"))
      const broken = yield* ask(yield* makeOpenAi(cut.url))
      assert.strictEqual(broken.reason, "truncated", broken.shown)
      assert.deepStrictEqual(broken.text, ["Once"])
    })
  )
})
