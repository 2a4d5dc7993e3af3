import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { InferenceRequest } from "../../../src/Schemas/Inference.ts"
import type { ToolCall } from "../../../src/Schemas/Tool.ts"
import {
  ask,
  begins,
  callChunks,
  makeModel,
  makeServer,
  makeTapped,
  type Protocol,
  protocols,
  requestOf,
  secretKey,
  textChunk,
  weather
} from "../../support/Models.ts"
import { wire } from "../../support/ModelWire.ts"
import { eventually } from "../../support/Until.ts"

const usage = { prompt_tokens: 11, completion_tokens: 7 }

const afterTools = (calls: ReadonlyArray<ToolCall>): InferenceRequest => ({
  system: "Be brief.",
  tools: [weather],
  messages: [
    { role: "user", content: "How is the weather?" },
    { role: "assistant", content: "", toolCalls: calls },
    {
      role: "tool",
      results: calls.map(({ id, name }, index) => ({
        id,
        name,
        result: index === 0 ? { celsius: -3 } : "nobody knows",
        isError: index === 1,
        durationMs: 1
      }))
    }
  ]
})

describe.each(protocols)("the model of %s", (protocol) => {
  it.live("streams text in deltas and tells its cost", () =>
    Effect.gen(function* () {
      const { mock, received, url } = yield* makeTapped
      mock.on({}, { content: "The sky is blue.", usage }, { chunkSize: 4 })
      const { error, events, text } = yield* ask(yield* makeModel(protocol, url))
      assert.isNull(error)
      assert.strictEqual(text.join(""), "The sky is blue.")
      assert.deepInclude(events.at(-1), { type: "finish", usage: { inputTokens: 11, outputTokens: 7 } })
      assert.strictEqual(wire[protocol].key(received[0]?.headers ?? {}), secretKey)
      assert.match(received[0]?.path ?? "", paths[protocol])
    })
  )

  it.live("takes a base URL with a path as it is", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(begins(""))
      const asking = yield* Effect.forkChild(ask(yield* makeModel(protocol, `${url}/proxy/v7/`)))
      yield* eventually(
        Effect.sync(() => received.length > 0),
        "it was asked"
      )
      yield* Fiber.interrupt(asking)
      assert.match(received[0]?.path ?? "", /^\/proxy\/v7\/[a-z]/)
    })
  )

  it.live("tells two parallel calls with their arguments and shows them again with their results", () =>
    Effect.gen(function* () {
      const { mock, received, url } = yield* makeTapped
      const toolCalls = [
        { id: "call_a", name: "weather", arguments: { city: "Oslo" } },
        { id: "call_b", name: "weather", arguments: { city: "Rome", days: 2 } }
      ]
      mock.on(
        { hasToolResult: false },
        {
          toolCalls: toolCalls.map((call) => ({ ...call, arguments: JSON.stringify(call.arguments) })),
          usage
        }
      )
      mock.on({ hasToolResult: true }, { content: "Cold.", usage })
      const model = yield* makeModel(protocol, url)
      const first = yield* ask(
        model,
        requestOf("How is the weather?", { system: "Be brief.", tools: [weather] })
      )
      assert.deepStrictEqual(
        first.calls.map((call) => ({ id: call.id, name: call.name, arguments: call.arguments })),
        toolCalls
      )
      assert.deepStrictEqual(first.usage, [{ inputTokens: 11, outputTokens: 7 }])
      const second = yield* ask(model, afterTools(first.calls))
      assert.strictEqual(second.text.join(""), "Cold.")

      const [asked, again] = received.map(({ body }) => body)
      const { calls, results, schemas, system } = wire[protocol]
      assert.strictEqual(system(asked), "Be brief.")
      assert.deepInclude(schemas(asked)[0] as object, weather.parameters)
      assert.include(JSON.stringify(asked), weather.description)
      assert.deepStrictEqual(calls(asked), [])
      assert.deepStrictEqual(
        calls(again),
        toolCalls.map((call) => [call.id, call.name, call.arguments])
      )
      assert.deepStrictEqual(
        results(again).map(([id]) => id),
        ["call_a", "call_b"]
      )
      assert.include(results(again)[0]?.[1], "-3")
      assert.include(results(again)[1]?.[1], "nobody knows")
    })
  )

  it.live("tells text and calls of one answer in order", () =>
    Effect.gen(function* () {
      const { mock, url } = yield* makeTapped
      mock.on({}, { content: "Let me see.", toolCalls: [{ name: "weather", arguments: "{}" }], usage })
      const { calls, events, text } = yield* ask(yield* makeModel(protocol, url))
      assert.strictEqual(text.join(""), "Let me see.")
      assert.strictEqual(calls.length, 1)
      assert.notStrictEqual(calls[0]?.id, "")
      assert.deepStrictEqual(
        events.slice(-2).map(({ type }) => type),
        ["tool_call", "finish"]
      )
    })
  )

  it.live("sends no message without content, and calls without text as they are", () =>
    Effect.gen(function* () {
      const { mock, received, url } = yield* makeTapped
      mock.on({}, { content: "Fine.", usage })
      const call = { id: "call_c", name: "weather", arguments: {} }
      const { error, text } = yield* ask(yield* makeModel(protocol, url), {
        system: "",
        tools: [],
        messages: [
          { role: "user", content: "one" },
          { role: "assistant", content: "", toolCalls: [] },
          { role: "user", content: "two" },
          ...afterTools([call]).messages.slice(1),
          { role: "user", content: "three" }
        ]
      })
      assert.isNull(error)
      assert.strictEqual(text.join(""), "Fine.")
      const body = received[0]?.body
      assert.deepStrictEqual(wire[protocol].calls(body), [["call_c", "weather", {}]])
      assert.notMatch(received[0]?.raw ?? "", /"(text|content)":""|"(content|parts)":\[\]/)
      assert.isUndefined(body.tools)
      assert.isUndefined(body.system ?? body.systemInstruction)
    })
  )

  it.live("asks many times at once over one model", () =>
    Effect.gen(function* () {
      const { mock, url } = yield* makeTapped
      mock.on({}, ({ messages }) => ({ content: `to ${messages.at(-1)?.content}`, usage }), { chunkSize: 1 })
      const model = yield* makeModel(protocol, url)
      const answers = yield* Effect.forEach(
        Array.from({ length: 10 }, (_, index) => `${index}`),
        (content) => ask(model, requestOf(content)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        answers.map(({ text }) => text.join("")),
        answers.map((_, index) => `to ${index}`)
      )
    })
  )
})

const paths: Readonly<Record<Protocol, RegExp>> = {
  openai: /^\/v1\/chat\/completions$/,
  "openai-compatible": /^\/v1\/chat\/completions$/,
  anthropic: /^\/v1\/messages$/,
  google: /^\/v1beta\/models\/google-model:streamGenerateContent/
}

describe.each(["openai", "openai-compatible", "anthropic"] as const)("a call of %s", (protocol) => {
  const answers = (json: string) =>
    begins(callChunks(protocol, "weather", json), (response) => response.end())

  it.live.each([`{"city":"Os`, "Oslo, please", `"Oslo"`, "[1]"])(
    "with the arguments %s comes as a call that a tool can refuse, and can be shown again",
    (json) =>
      Effect.gen(function* () {
        const { received, url } = yield* makeServer(answers(json))
        const model = yield* makeModel(protocol, url)
        const { calls, error, usage: costs } = yield* ask(model)
        assert.isNull(error)
        assert.strictEqual(costs.length, 1)
        assert.strictEqual(calls[0]?.name, "weather")
        const parsed = /^["[]/.test(json) ? JSON.parse(json) : json
        assert.deepStrictEqual(calls[0]?.arguments, parsed)
        yield* ask(model, afterTools(calls))
        assert.deepStrictEqual(wire[protocol].calls(received[1]?.body), [[calls[0]?.id ?? "", "weather", {}]])
      })
  )

  it.live("without any arguments has an empty object", () =>
    Effect.gen(function* () {
      const { url } = yield* makeServer(answers(""))
      const { calls, error } = yield* ask(yield* makeModel(protocol, url))
      assert.isNull(error)
      assert.deepStrictEqual(calls[0]?.arguments, {})
    })
  )
})

describe("a call of google", () => {
  it.live("goes back with the signature that it came with", () =>
    Effect.gen(function* () {
      const part = { functionCall: { name: "weather", args: { city: "Oslo" } }, thoughtSignature: "c2lnbmVk" }
      const chunk = { candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP" }] }
      const { received, url } = yield* makeServer(
        begins(`data: ${JSON.stringify(chunk)}\n\n`, (response) => response.end()),
        begins(textChunk("google", "Cold."), (response) => response.end())
      )
      const model = yield* makeModel("google", url)
      const { calls } = yield* ask(model)
      yield* ask(model, afterTools(calls))
      const parts = received[1]?.body.contents[1].parts
      assert.deepStrictEqual(parts[0].thoughtSignature, "c2lnbmVk")
      assert.deepStrictEqual(parts[0].functionCall.args, { city: "Oslo" })
    })
  )
})
