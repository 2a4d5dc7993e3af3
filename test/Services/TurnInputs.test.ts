import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import * as SchemaCheck from "../../src/Layers/Tools/SchemaCheck.ts"
import type { ChatEvent } from "../../src/Schemas/ChatEvent.ts"
import type { InferenceEvent, PromptMessage } from "../../src/Schemas/Inference.ts"
import { isTerminal } from "../../src/Schemas/Run.ts"
import type { ToolDefinition } from "../../src/Schemas/Tool.ts"
import { plainInput } from "../../src/Schemas/TurnInput.ts"
import { Agents } from "../../src/Services/Agents.ts"
import { Approvals } from "../../src/Services/Approvals.ts"
import { Chat } from "../../src/Services/Chat.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import * as Engine from "../../src/Services/Engine.ts"
import { RunEventRepo } from "../../src/Services/RunEventRepo.ts"
import { Turns } from "../../src/Services/Turns.ts"
import { collect, conversationOf, textOf } from "../support/ChatEvents.ts"
import { startMortal, stored } from "../support/Engine.ts"
import {
  calls,
  finish,
  layerAtRest,
  layerScripted,
  makeTenant,
  ScriptedModel,
  says
} from "../support/Service.ts"

const limits = Layer.succeed(SchemaCheck.LimitsMillis, [60_000])
const layer = layerScripted().pipe(Layer.provideMerge(limits))

const weather: ToolDefinition = {
  name: "weather",
  description: "Tells the weather.",
  parameters: { type: "object" },
  readOnly: false
}
const withWeather = { ...plainInput, tools: [weather] }

const turnOf = ([first]: ReadonlyArray<ChatEvent>) => {
  assert.isTrue(first?.event === "conversation")
  return first?.event === "conversation" ? first.data.turnId : assert.fail()
}
const told = (events: ReadonlyArray<ChatEvent>) =>
  events.flatMap(({ data, event }) => ("id" in data ? [`${event} ${data.id}`] : []))

/** A model that gives these answers in turn, and is shown what it is shown. */
const answering = Effect.fnUntraced(function* (...answers: ReadonlyArray<ReadonlyArray<InferenceEvent>>) {
  const model = yield* ScriptedModel
  model.script = () => Stream.fromIterable(answers[model.requests.length - 1] ?? says("no more"))
  return { shown: (index: number) => model.requests[index] ?? assert.fail(), requests: model.requests }
})

describe("A turn with tools of its caller", () => {
  it.effect("ends with calls that have no result, and the next one brings it", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const turns = yield* Turns
      const model = yield* answering(
        [{ type: "text", delta: "Well. " }, ...calls("weather", "current_time")],
        says("It rains.")
      )
      const { user, workspaceId } = yield* makeTenant()
      const first = yield* collect(
        chat.send(user, { workspaceId, content: "How is it?", given: withWeather })
      )
      assert.deepStrictEqual(told(first), [
        "tool_call call_current_time_1",
        "tool_result call_current_time_1",
        "tool_call call_weather_0"
      ])
      assert.strictEqual(first.at(-1)?.event, "done")
      const { reply, run } = yield* turns.get(user, turnOf(first))
      assert.deepInclude(run, { status: "COMPLETED", output: "Well. " })
      assert.strictEqual(reply?.content, "Well. ")
      const [answer, results] = reply?.parts ?? []
      assert.isTrue(answer?.role === "assistant" && answer.toolCalls.length === 2)
      assert.isTrue(results?.role === "tool" && results.results.length === 1)

      const result = { id: "call_weather_0", name: "", result: "rain", isError: false, durationMs: 0 }
      const parts: ReadonlyArray<PromptMessage> = [
        { role: "tool", results: [result] },
        { role: "user", content: "Go on" }
      ]
      const conversationId = conversationOf(first)
      const message = { workspaceId, conversationId, content: "Go on", parts, given: withWeather }
      const second = yield* collect(chat.send(user, message))
      assert.strictEqual(textOf(second), "It rains.")
      const { messages } = model.shown(1)
      assert.deepStrictEqual(
        messages.map((one) =>
          one.role === "tool" ? one.results.map(({ id, name }) => [id, name]) : one.content
        ),
        [
          "How is it?",
          "Well. ",
          [
            ["call_weather_0", "weather"],
            ["call_current_time_1", "current_time"]
          ],
          "Go on"
        ]
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("is gone on with where nobody brought a result", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const model = yield* answering(calls("weather"), says("Never mind."))
      const { user, workspaceId } = yield* makeTenant()
      const first = yield* collect(
        chat.send(user, { workspaceId, content: "How is it?", given: withWeather })
      )
      yield* collect(
        chat.send(user, { workspaceId, conversationId: conversationOf(first), content: "Forget it" })
      )
      const [, , result, last] = model.shown(1).messages
      assert.isTrue(result?.role === "tool" && result.results[0]?.isError === true, JSON.stringify(result))
      assert.deepStrictEqual(last, { role: "user", content: "Forget it" })
      assert.isFalse(model.shown(1).tools.some(({ name }) => name === "weather"))
    }).pipe(Effect.provide(layer))
  )

  it.effect("asks people about the agent's calls alone, and tells the caller's when they have decided", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const approvals = yield* Approvals
      yield* answering([
        {
          type: "tool_call",
          call: { id: "c1", name: "remember", arguments: { key: "k", value: "v" } }
        },
        ...calls("weather")
      ])
      const { user, workspaceId } = yield* makeTenant()
      const events: Array<ChatEvent> = []
      const stream = yield* chat.send(user, {
        workspaceId,
        content: "How is it?",
        autonomyLevel: "supervised",
        given: withWeather
      })
      const list = approvals.list(user, { workspaceId, limit: 9, offset: 0 })
      yield* Stream.runForEach(
        stream,
        Effect.fnUntraced(function* ({ event }) {
          events.push(event as ChatEvent)
          if (event.event !== "status" || !("approvalId" in event.data)) return
          const waiting = yield* list
          assert.deepStrictEqual(
            waiting.map(({ tool }) => tool),
            ["remember"]
          )
          assert.deepStrictEqual(told(events), ["tool_call c1"])
          for (const { id } of waiting) yield* approvals.decide(user, id, { decision: "approve" })
        })
      )
      assert.deepStrictEqual(told(events), ["tool_call c1", "tool_result c1", "tool_call call_weather_0"])
      assert.strictEqual(events.at(-1)?.event, "done")
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  const settings = { leaseMillis: 3_000 }

  it.effect("does and tells nothing twice when its node is killed between the agent's call and the end", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const conversations = yield* ConversationRepo
      const events = yield* RunEventRepo
      const turns = yield* Turns
      const { user, workspaceId } = yield* makeTenant()
      const remember = {
        type: "tool_call" as const,
        call: { id: "c1", name: "remember", arguments: { key: "k", value: "v" } }
      }
      const asked: Array<string> = []
      const script = (node: string) => () => {
        asked.push(node)
        return Stream.fromIterable([{ type: "text" as const, delta: "Hm. " }, remember, ...calls("weather")])
      }
      yield* chat.send(user, { workspaceId, content: "How is it?", given: withWeather })
      const [conversation] = yield* conversations.list({ workspaceId, limit: 1, offset: 0 })
      const id = Option.getOrThrow(yield* conversations.latestTurn(conversation?.id ?? assert.fail()))

      const mortal = yield* startMortal("mortal", script("mortal"), Engine.layerTurns, "finish")
      yield* TestClock.adjust(settings.leaseMillis + 1_500)
      assert.isTrue(mortal.isDead())
      assert.strictEqual((yield* stored(id)).status, "RUNNING")
      yield* startMortal("heir", script("heir"), Engine.layerTurns)
      for (let waited = 0; waited < 60 && !isTerminal((yield* stored(id)).status); waited++) {
        yield* TestClock.adjust(1_000)
      }
      assert.deepStrictEqual(asked, ["mortal"])
      const kept = (yield* events.read(id, 0, 1_000)).map(({ event }) => event as ChatEvent)
      assert.deepStrictEqual(told(kept), ["tool_call c1", "tool_result c1", "tool_call call_weather_0"])
      assert.strictEqual(textOf(kept), "Hm. ")
      const { reply, run } = yield* turns.get(user, id)
      assert.deepInclude(run, { status: "COMPLETED", output: "Hm. ", epoch: 2 })
      assert.strictEqual(reply?.parts?.length, 2)
    }).pipe(Effect.scoped, Effect.provide(layerAtRest(settings)))
  )
})

describe("A turn with a conversation of its own", () => {
  it.effect("shows that instead of what is stored, and instructions behind the agent's", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const model = yield* answering(says("one"), says("two"), says("three"))
      const { user, workspaceId } = yield* makeTenant()
      const agent = yield* (yield* Agents).create(user, {
        workspaceId,
        name: "a",
        systemPrompt: "Be brief."
      })
      const messages: ReadonlyArray<PromptMessage> = [
        { role: "user", content: "before" },
        { role: "assistant", content: "", toolCalls: [{ id: "x", name: "t", arguments: {} }] },
        { role: "user", content: "now" }
      ]
      const given = { ...plainInput, messages, instructions: "Speak Latin." }
      const stateless = yield* collect(
        chat.send(user, { workspaceId, agentId: agent.id, content: "now", given, isHidden: true })
      )
      assert.strictEqual(stateless.at(-1)?.event, "done")
      assert.strictEqual(model.shown(0).system, "Be brief.\n\nSpeak Latin.")
      assert.deepStrictEqual(
        model.shown(0).messages.map(({ role }) => role),
        ["user", "assistant", "tool", "user"]
      )
      const conversationId = conversationOf(stateless)
      yield* collect(chat.send(user, { workspaceId, conversationId, content: "and then?" }))
      assert.strictEqual(model.shown(1).system, "Be brief.")
      assert.deepStrictEqual(
        model.shown(1).messages.map((one) => (one.role === "tool" ? "" : one.content)),
        ["now", "one", "and then?"]
      )
      yield* collect(chat.send(user, { workspaceId, content: "alone", given }))
      assert.strictEqual(model.shown(2).system, "Speak Latin.")
    }).pipe(Effect.provide(layer))
  )
})

describe("A turn with a format", () => {
  const format = {
    name: "n",
    schema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] }
  }
  const given = { ...plainInput, format }

  it.effect("has the JSON alone as its reply, also where it was asked for again", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const model = yield* answering(says('{"m":1}'), says('{"n":', "1}"), says("ok"))
      const { user, workspaceId } = yield* makeTenant()
      const events = yield* collect(chat.send(user, { workspaceId, content: "count", given }))
      const last = events.at(-1)
      assert.isTrue(last?.event === "done" && last.data.message.content === '{"n":1}')
      assert.isTrue(last?.event === "done" && last.data.usage.outputTokens === 4)
      assert.strictEqual(textOf(events), '{"n":1}')
      yield* collect(
        chat.send(user, { workspaceId, conversationId: conversationOf(events), content: "thanks" })
      )
      assert.strictEqual(model.shown(2).messages.length, 3)
    }).pipe(Effect.provide(layer))
  )

  it.effect("ends FAILED as invalid_output, and counts what both answers cost", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const turns = yield* Turns
      yield* answering(says("no"), says("no"))
      const { user, workspaceId } = yield* makeTenant()
      const events = yield* collect(chat.send(user, { workspaceId, content: "count", given }))
      const last = events.at(-1)
      assert.isTrue(last?.event === "error" && last.data.code === "invalid_output", JSON.stringify(last))
      assert.strictEqual(textOf(events), "")
      const { reply, run } = yield* turns.get(user, turnOf(events))
      assert.isNull(reply)
      assert.deepInclude(run, { status: "FAILED", errorCode: "invalid_output", output: null })
      assert.deepInclude(run.usage, { inputTokens: 2, outputTokens: 4 })
    }).pipe(Effect.provide(layer))
  )

  it.effect("is stored as far as it came where its limit of tokens cut it off", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const turns = yield* Turns
      yield* answering([
        { type: "text", delta: '{"n":' },
        { ...finish, truncated: "limit" } as InferenceEvent
      ])
      const { user, workspaceId } = yield* makeTenant()
      const events = yield* collect(chat.send(user, { workspaceId, content: "count", given }))
      assert.strictEqual(textOf(events), '{"n":')
      const { reply, run } = yield* turns.get(user, turnOf(events))
      assert.deepInclude(run, { errorCode: "inference_truncated" })
      assert.strictEqual(reply?.content, '{"n":')
    }).pipe(Effect.provide(layer))
  )
})
