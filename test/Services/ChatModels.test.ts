import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import type { ChatEvent } from "../../src/Schemas/ChatEvent.ts"
import { Chat } from "../../src/Services/Chat.ts"
import { ProviderKeys } from "../../src/Services/ProviderKeys.ts"
import { collect, conversationOf, textOf } from "../support/ChatEvents.ts"
import { makeTapped, protocols } from "../support/Models.ts"
import { wire } from "../support/ModelWire.ts"
import { layerOver, makeTenant } from "../support/Service.ts"

const usage = { prompt_tokens: 11, completion_tokens: 7 }
const question = 'call current_time {}\ncall current_time {"timezone":"Asia/Tokyo"}'

/** aimock as a model that looks at the clock when it is told to `call`, and otherwise only answers. */
const makeProvider = Effect.gen(function* () {
  const tapped = yield* makeTapped
  tapped.mock.on(
    {},
    ({ messages }) => {
      const last = messages.at(-1)
      if (last?.role === "tool") return { content: "It is late here and there.", usage }
      if (!JSON.stringify(last?.content).includes("call")) return { content: "You are welcome.", usage }
      const toolCalls = [{}, { timezone: "Asia/Tokyo" }].map((argument) => ({
        name: "current_time",
        arguments: JSON.stringify(argument)
      }))
      return { toolCalls, usage }
    },
    { chunkSize: 5 }
  )
  return tapped
})

/** The names of the events; a text is one, in however many pieces it comes. */
const outline = (events: ReadonlyArray<ChatEvent>) =>
  events
    .map(({ data, event }) => (event === "status" ? data.status : event))
    .filter((name, index, all) => name !== "responding" || all[index - 1] !== name)

const layerWith = (env: Readonly<Record<string, string>>, allowPrivateAddresses = true) =>
  layerOver(ConfigProvider.layer(ConfigProvider.fromEnv({ env })), { allowPrivateAddresses })

const converse = Effect.fnUntraced(function* (key: {
  readonly provider: (typeof protocols)[number] | "offline"
  readonly apiKey?: string
  readonly baseUrl?: string
}) {
  const chat = yield* Chat
  const keys = yield* ProviderKeys
  const { user, workspaceId } = yield* makeTenant()
  const { id: providerKeyId } = yield* keys.create(user, { workspaceId, name: "k", model: "m", ...key })
  const first = yield* collect(chat.send(user, { workspaceId, content: question, providerKeyId }))
  const conversationId = conversationOf(first)
  const content = "Thank you."
  const second = yield* collect(chat.send(user, { workspaceId, content, conversationId, providerKeyId }))

  assert.deepStrictEqual(outline(first), [
    "conversation",
    "thinking",
    "tool_call",
    "tool_call",
    "tool_result",
    "tool_result",
    "thinking",
    "responding",
    "done"
  ])
  assert.deepStrictEqual(outline(second), ["conversation", "thinking", "responding", "done"])
  const calls = first.flatMap(({ data, event }) => (event === "tool_call" ? [data] : []))
  const results = first.flatMap(({ data, event }) => (event === "tool_result" ? [data] : []))
  assert.deepStrictEqual(
    calls.map(({ arguments: argument, name }) => [name, argument]),
    [
      ["current_time", {}],
      ["current_time", { timezone: "Asia/Tokyo" }]
    ]
  )
  assert.deepStrictEqual(
    results.map(({ id }) => id),
    calls.map(({ id }) => id)
  )
  assert.strictEqual(new Set(calls.map(({ id }) => id)).size, 2)
  assert.isTrue(results.every(({ isError }) => !isError))
  const costs = [first, second].map((events) => {
    const last = events.at(-1)
    if (last?.event !== "done") return assert.fail("a turn without done")
    assert.strictEqual(last.data.message.content, textOf(events))
    return last.data.usage
  })
  return { calls, costs }
})

describe("Chat over models", () => {
  it.live.each(protocols)("is the same conversation with %s, which is shown all of it again", (provider) =>
    Effect.gen(function* () {
      const { received, url } = yield* makeProvider
      const { calls, costs } = yield* converse({ provider, apiKey: "key", baseUrl: url })
      assert.deepStrictEqual(costs, [
        { inputTokens: 22, outputTokens: 14 },
        { inputTokens: 11, outputTokens: 7 }
      ])
      assert.strictEqual(received.length, 3)
      const read = wire[provider]
      for (const { body } of received.slice(1)) {
        assert.deepStrictEqual(
          read.calls(body),
          calls.map((call) => [call.id, call.name, call.arguments])
        )
        const results = read.results(body)
        assert.deepStrictEqual(
          results.map(([id]) => id),
          calls.map(({ id }) => id)
        )
        assert.notInclude(results[0]?.[1], "Asia/Tokyo")
        assert.include(results[1]?.[1], "Asia/Tokyo")
      }
      const last = received[2]?.raw ?? ""
      const told = ["Asia/Tokyo", "It is late here and there.", "Thank you."].map((text) =>
        last.indexOf(text)
      )
      assert.isTrue(
        told.every((at, index) => at > (told[index - 1] ?? 0)),
        last
      )
    }).pipe(Effect.provide(layerWith({})))
  )

  it.live("is the same conversation with the offline provider", () =>
    Effect.gen(function* () {
      const { costs } = yield* converse({ provider: "offline" })
      for (const { inputTokens, outputTokens } of costs) {
        assert.isAbove(inputTokens, 0)
        assert.isAbove(outputTokens, 0)
      }
    }).pipe(Effect.provide(layerWith({})))
  )

  it.live("answers with the operator's model where a workspace has no key", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeProvider
      yield* Effect.gen(function* () {
        const chat = yield* Chat
        const { user, workspaceId } = yield* makeTenant()
        const events = yield* collect(chat.send(user, { workspaceId, content: "hi" }))
        assert.strictEqual(textOf(events), "You are welcome.")
        const runs = received.map(({ body, headers, path }) => [path, body.model, headers.authorization])
        assert.deepStrictEqual(runs, [["/v1/chat/completions", "gpt-house", "Bearer env-key"]])
        assert.strictEqual(received[0]?.body.max_tokens, 777)
      }).pipe(
        Effect.provide(
          layerWith(
            {
              OPENAI_API_KEY: "env-key",
              OPENAI_BASE_URL: url,
              AGENTD_DEFAULT_MODEL: "gpt-house",
              AGENTD_MAX_OUTPUT_TOKENS: "777"
            },
            false
          )
        )
      )
    })
  )

  it.live("asks for no longer answers than the key allows", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeProvider
      const { user, workspaceId } = yield* makeTenant()
      const given = { name: "k", provider: "openai-compatible", model: "m", baseUrl: url } as const
      const keys = yield* ProviderKeys
      const key = yield* keys.create(user, { ...given, workspaceId, maxOutputTokens: 555 })
      assert.strictEqual(key.maxOutputTokens, 555)
      yield* collect((yield* Chat).send(user, { workspaceId, content: "hi" }))
      assert.strictEqual(received[0]?.body.max_tokens, 555)
    }).pipe(Effect.provide(layerWith({})))
  )

  it.live("does not ask a private address that a user has set, and says what it says of unknown names", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeProvider
      const chat = yield* Chat
      const keys = yield* ProviderKeys
      const { user, workspaceId } = yield* makeTenant()
      const key = { name: "k", provider: "openai", model: "m", apiKey: "key", workspaceId } as const
      const endOf = Effect.fnUntraced(function* (baseUrl: string) {
        const { id: providerKeyId } = yield* keys.create(user, { ...key, baseUrl })
        const last = (yield* collect(chat.send(user, { workspaceId, content: "hi", providerKeyId }))).at(-1)
        assert.strictEqual(last?.event, "error")
        return JSON.stringify(last?.data).replaceAll(new URL(baseUrl).hostname, "HOST")
      })
      const ends = yield* Effect.forEach([url, "http://nowhere.invalid/v1"], endOf, { concurrency: 2 })
      assert.include(ends[0], "inference_unreachable")
      assert.include(ends[0], "HOST is no known host, or one in a private network")
      assert.strictEqual(ends[0], ends[1])
      assert.deepStrictEqual(received, [])
    }).pipe(Effect.provide(layerWith({}, false)))
  )
})
