import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type OpenAI from "openai"
import { InferenceError, type InferenceEvent } from "../../../../src/Schemas/Inference.ts"
import { ConversationRepo } from "../../../../src/Services/ConversationRepo.ts"
import { RunRepo } from "../../../../src/Services/RunRepo.ts"
import { makeAgent } from "../../../support/Fixtures.ts"
import { collected, makeOpenAi, refusal } from "../../../support/OpenAiClient.ts"
import { calls, finish, layerScripted, makeGate, says } from "../../../support/Service.ts"
import { eventually } from "../../../support/Until.ts"

type Params = OpenAI.Chat.ChatCompletionCreateParamsNonStreaming

const hello: Params = { model: "default", messages: [{ role: "user", content: "hello" }] }

const weather: OpenAI.Chat.ChatCompletionFunctionTool = {
  type: "function",
  function: {
    name: "weather",
    description: "the weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
  }
}

const callsWeather = (...cities: ReadonlyArray<string>): ReadonlyArray<InferenceEvent> => [
  ...cities.map(
    (city, index): InferenceEvent => ({
      type: "tool_call",
      call: { id: `call_${index}`, name: "weather", arguments: { city } }
    })
  ),
  finish
]

describe("POST /v1/chat/completions", () => {
  it.effect("answers with the whole answer", () =>
    Effect.gen(function* () {
      const { client, model } = yield* makeOpenAi
      yield* TestClock.setTime(5_999)
      model.script = () => Stream.fromIterable(says("Hel", "lo"))
      const { choices, usage, ...answer } = yield* Effect.promise(() => client.chat.completions.create(hello))
      assert.match(answer.id, /^chatcmpl-[0-9a-z]{26}$/)
      assert.deepInclude(answer, { object: "chat.completion", created: 5, model: "default" })
      assert.match(answer.system_fingerprint ?? "", /^agentd-\d/)
      assert.deepStrictEqual(choices, [
        {
          index: 0,
          message: { role: "assistant", content: "Hello", refusal: null, annotations: [] },
          logprobs: null,
          finish_reason: "stop"
        }
      ])
      assert.deepInclude(usage, { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 })
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("streams the answer as it is made, and says in the end what it took", () =>
    Effect.gen(function* () {
      const { client, model } = yield* makeOpenAi
      model.script = () =>
        Stream.fromIterable<InferenceEvent>([
          { type: "text", delta: "Hel" },
          { type: "text", delta: "lo" },
          { type: "finish", usage: { inputTokens: 10, outputTokens: 2, cachedInputTokens: 4 } }
        ])
      const streamed = { ...hello, stream: true as const, stream_options: { include_usage: true } }
      const chunks = yield* collected(() => client.chat.completions.create(streamed))
      assert.deepStrictEqual(
        chunks.map(({ choices, usage }) => [
          choices[0]?.delta,
          choices[0]?.finish_reason,
          usage?.prompt_tokens
        ]),
        [
          [{ role: "assistant", content: "", refusal: null }, null, undefined],
          [{ content: "Hel" }, null, undefined],
          [{ content: "lo" }, null, undefined],
          [{}, "stop", undefined],
          [undefined, undefined, 10]
        ]
      )
      assert.lengthOf(new Set(chunks.map(({ id }) => id)), 1)
      assert.strictEqual(chunks.at(-1)?.usage?.prompt_tokens_details?.cached_tokens, 4)
      assert.deepStrictEqual(
        chunks.slice(0, -1).map(({ usage }) => usage),
        [null, null, null, null]
      )
      const plain = yield* collected(() => client.chat.completions.create({ ...hello, stream: true }))
      assert.notProperty(plain[0], "usage")
      assert.lengthOf(plain.at(-1)?.choices ?? [], 1)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("tells each piece when it is there, with comments while nothing is said", () =>
    Effect.gen(function* () {
      const { fetch, model, token } = yield* makeOpenAi
      const gate = yield* makeGate
      model.script = () =>
        Stream.concat(
          Stream.fromIterable<InferenceEvent>([{ type: "text", delta: "first" }]),
          Stream.unwrap(Effect.as(gate.wait, Stream.fromIterable(says(" second"))))
        )
      const response = yield* Effect.promise(() =>
        fetch("http://agentd.test/v1/chat/completions", {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify({ ...hello, stream: true })
        })
      )
      assert.strictEqual(response.headers.get("content-type"), "text/event-stream")
      assert.strictEqual(response.headers.get("x-accel-buffering"), "no")
      let text = ""
      const reading = yield* Effect.forkChild(
        Effect.promise(async () => {
          const decoder = new TextDecoder()
          if (response.body !== null) for await (const piece of response.body) text += decoder.decode(piece)
        })
      )
      yield* eventually(
        Effect.sync(() => text.includes("first")),
        "the first piece"
      )
      assert.notInclude(text, ":\n\n")
      yield* TestClock.adjust("10 seconds")
      yield* eventually(
        Effect.sync(() => text.endsWith(":\n\n")),
        "a comment"
      )
      yield* gate.open
      yield* Fiber.join(reading)
      assert.isTrue(text.endsWith("data: [DONE]\n\n"))
      assert.include(text, " second")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("shows the model the conversation of the caller, and keeps it from lists", () =>
    Effect.gen(function* () {
      const { client, model, workspaceId } = yield* makeOpenAi
      yield* makeAgent(workspaceId, { name: "Poet", systemPrompt: "You rhyme." })
      yield* Effect.promise(() =>
        client.chat.completions.create({
          model: "Poet",
          messages: [
            { role: "system", content: "Be brief." },
            { role: "developer", content: [{ type: "text", text: "Be kind." }] },
            { role: "user", content: "one", name: "Ann" },
            { role: "assistant", content: "two" },
            { role: "user", content: [{ type: "text", text: "three" }] }
          ]
        })
      )
      const [request] = model.requests
      assert.deepStrictEqual(request?.messages, [
        { role: "user", content: "Ann: one" },
        { role: "assistant", content: "two", toolCalls: [] },
        { role: "user", content: "three" }
      ])
      const system = request?.system ?? ""
      assert.isBelow(system.indexOf("You rhyme."), system.indexOf("Be brief.\n\nBe kind."))
      const listed = yield* (yield* ConversationRepo).list({ workspaceId, limit: 9, offset: 0 })
      assert.deepStrictEqual(listed, [])
      const runs = yield* (yield* RunRepo).list({ workspaceId, limit: 9, offset: 0 })
      assert.deepStrictEqual(runs.runs, [])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect(
    "ends with the calls of the caller's tools, several at once, and goes on with their results",
    () =>
      Effect.gen(function* () {
        const { client, model } = yield* makeOpenAi
        model.script = () => Stream.fromIterable(callsWeather("Berlin", "Rome"))
        const asked: Params = { ...hello, tools: [weather], tool_choice: "required" }
        const first = yield* Effect.promise(() => client.chat.completions.create(asked))
        const [choice] = first.choices
        assert.strictEqual(choice?.finish_reason, "tool_calls")
        assert.isNull(choice?.message.content)
        const called = choice?.message.tool_calls ?? []
        assert.deepStrictEqual(
          called.map(
            (call) => call.type === "function" && [call.id, call.function.name, call.function.arguments]
          ),
          [
            ["call_0", "weather", '{"city":"Berlin"}'],
            ["call_1", "weather", '{"city":"Rome"}']
          ]
        )
        assert.strictEqual(model.requests[0]?.toolChoice, "required")
        const offered = (model.requests[0]?.tools ?? []).map(({ name }) => name)
        assert.includeMembers(offered, ["weather", "current_time"])

        model.script = () => Stream.fromIterable(says("It rains in both."))
        const second = yield* Effect.promise(() =>
          client.chat.completions.create({
            ...asked,
            tool_choice: "auto",
            messages: [
              ...hello.messages,
              choice?.message as OpenAI.Chat.ChatCompletionMessage,
              ...called.map(({ id }) => ({ role: "tool" as const, tool_call_id: id, content: `rain ${id}` }))
            ]
          })
        )
        assert.strictEqual(second.choices[0]?.message.content, "It rains in both.")
        const result = { name: "weather", isError: false, durationMs: 0 }
        assert.deepStrictEqual(model.requests[1]?.messages.slice(1), [
          {
            role: "assistant",
            content: "",
            toolCalls: [
              { id: "call_0", name: "weather", arguments: { city: "Berlin" } },
              { id: "call_1", name: "weather", arguments: { city: "Rome" } }
            ]
          },
          {
            role: "tool",
            results: [
              { ...result, id: "call_0", result: "rain call_0" },
              { ...result, id: "call_1", result: "rain call_1" }
            ]
          }
        ])
      }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("streams calls so that the client's own runner makes them, and none of the agent's", () =>
    Effect.gen(function* () {
      const { client, model } = yield* makeOpenAi
      const script = [calls("current_time"), callsWeather("Rome"), says("Sunny.")]
      model.script = () => Stream.fromIterable(script[model.requests.length - 1] ?? [])
      const asked: Array<unknown> = []
      const text = yield* Effect.promise(async () => {
        const runner = client.chat.completions.runTools({
          ...hello,
          stream: true,
          tools: [
            {
              type: "function",
              function: {
                ...weather.function,
                parse: JSON.parse,
                function: (given: unknown) => {
                  asked.push(given)
                  return "sun"
                }
              }
            }
          ]
        } as never)
        return (await (runner as { finalContent: () => Promise<string> }).finalContent()) ?? ""
      })
      assert.strictEqual(text, "Sunny.")
      assert.deepStrictEqual(asked, [{ city: "Rome" }])
      assert.lengthOf(model.requests, 3)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("answers in a format, checked and asked for once again", () =>
    Effect.gen(function* () {
      const { client, model } = yield* makeOpenAi
      const script = [says('{"city":1}'), says('{"city":"Rome"}')]
      model.script = () => Stream.fromIterable(script[model.requests.length - 1] ?? [])
      const schema = {
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"],
        additionalProperties: false
      }
      const parsed = yield* Effect.promise(() =>
        client.chat.completions.parse({
          ...hello,
          response_format: { type: "json_schema", json_schema: { name: "place", strict: true, schema } }
        })
      )
      assert.deepStrictEqual(JSON.parse(parsed.choices[0]?.message.content ?? ""), { city: "Rome" })
      assert.deepStrictEqual(model.requests[0]?.format, { name: "place", schema })
      model.script = () => Stream.fromIterable(says("no JSON"))
      const refused = yield* refusal(() =>
        client.chat.completions.create({ ...hello, response_format: { type: "json_object" } })
      )
      assert.deepStrictEqual(
        [refused.status, refused.code, refused.type],
        [500, "invalid_output", "server_error"]
      )
      assert.strictEqual(refused.headers?.get("x-should-retry"), "false")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("passes on how the answer is made, and says when it was cut off", () =>
    Effect.gen(function* () {
      const { client, model } = yield* makeOpenAi
      model.script = () =>
        Stream.fromIterable<InferenceEvent>([
          { type: "text", delta: "It beg" },
          { type: "finish", usage: { inputTokens: 1, outputTokens: 2 }, truncated: "the limit was reached" }
        ])
      const asked: Params = {
        ...hello,
        max_completion_tokens: 2,
        temperature: 0.5,
        top_p: 0.9,
        stop: ["END"],
        seed: 7,
        presence_penalty: 1,
        frequency_penalty: -1
      }
      const cut = yield* Effect.promise(() => client.chat.completions.create(asked))
      assert.deepStrictEqual(
        [cut.choices[0]?.finish_reason, cut.choices[0]?.message.content],
        ["length", "It beg"]
      )
      assert.deepStrictEqual(model.requests[0]?.sampling, {
        maxOutputTokens: 2,
        temperature: 0.5,
        topP: 0.9,
        stop: ["END"],
        seed: 7,
        presencePenalty: 1,
        frequencyPenalty: -1
      })
      const chunks = yield* collected(() => client.chat.completions.create({ ...asked, stream: true }))
      assert.strictEqual(chunks.at(-1)?.choices[0]?.finish_reason, "length")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("answers with an error where the model gives no answer, also within the stream", () =>
    Effect.gen(function* () {
      const { client, clientOf, model } = yield* makeOpenAi
      const failing = (reason: InferenceError["reason"], ...before: ReadonlyArray<InferenceEvent>) => {
        model.script = () =>
          Stream.concat(
            Stream.fromIterable(before),
            Stream.fail(new InferenceError({ reason, error: "it was bad" }))
          )
      }
      failing("context_length")
      const refused = yield* refusal(() => client.chat.completions.create(hello))
      assert.deepStrictEqual(
        [refused.status, refused.code, refused.type, refused.message],
        [400, "context_length_exceeded", "invalid_request_error", "400 it was bad"]
      )
      failing("authentication", { type: "text", delta: "so far" })
      const broken = yield* refusal(() =>
        clientOf()
          .chat.completions.create({ ...hello, stream: true })
          .then(async (stream) => {
            for await (const _ of stream);
          })
      )
      assert.deepStrictEqual([broken.code, broken.type], ["inference_authentication", "server_error"])
      assert.deepInclude(broken.error, { message: "it was bad", param: null })
    }).pipe(Effect.provide(layerScripted()))
  )
})
