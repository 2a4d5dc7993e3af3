import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { ConversationId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { InferenceError } from "../../src/Schemas/Inference.ts"
import type { User } from "../../src/Schemas/User.ts"
import { Chat } from "../../src/Services/Chat.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import { Engine } from "../../src/Services/Engine.ts"
import { Lifecycle } from "../../src/Services/Lifecycle.ts"
import { Settings } from "../../src/Services/Settings.ts"
import { chatEvent, collect, conversationOf, names, textOf } from "../support/ChatEvents.ts"
import { readChat } from "../support/Listed.ts"
import { calls, layerScripted, makeGate, makeTenant, ScriptedModel, says } from "../support/Service.ts"

/** The id of the conversation that is being answered, as the list shows it. */
const underWay = Effect.fnUntraced(function* (user: User, workspaceId: WorkspaceId) {
  const chat = yield* Chat
  const [conversation] = yield* chat.list(user, { workspaceId, limit: 1, offset: 0 })
  assert.isDefined(conversation)
  return (conversation as { readonly id: ConversationId }).id
})

const slowModel = Effect.gen(function* () {
  const model = yield* ScriptedModel
  const gate = yield* makeGate
  const started = yield* makeGate
  model.script = () =>
    Stream.fromIterable(says("one", "two")).pipe(
      Stream.mapEffect((event, index) =>
        index === 1 ? Effect.as(Effect.andThen(started.open, gate.wait), event) : Effect.succeed(event)
      )
    )
  return { model, gate, started }
})

const drain = (millis: number) => Effect.flatMap(Engine, (engine) => engine.drain("turn", millis))

describe("Chat", () => {
  it.effect("streams an answer, stores both messages, and ends with done", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const { user, workspaceId } = yield* makeTenant()
      const model = yield* ScriptedModel
      model.script = () =>
        Stream.fromIterable(model.requests.length === 1 ? calls("current_time") : says("It is ", "late."))
      const events = yield* collect(chat.send(user, { workspaceId, content: "What time is it?" }))
      assert.deepStrictEqual(names(events), [
        "conversation",
        "status",
        "tool_call",
        "tool_result",
        "status",
        "status",
        "status",
        "done"
      ])
      const last = events.at(-1)
      assert.isTrue(last?.event === "done")
      if (last?.event !== "done") return
      assert.strictEqual(last.data.message.content, textOf(events))
      assert.deepStrictEqual(last.data.usage, { inputTokens: 2, outputTokens: 4 })
      const read = yield* readChat(chat, user, conversationOf(events))
      assert.deepStrictEqual(
        read.messages.map(({ content, role }) => [role, content]),
        [
          ["USER", "What time is it?"],
          ["ASSISTANT", "It is late."]
        ]
      )
      assert.strictEqual(read.title, "What time is it?")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("shows the model the conversation so far", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const { user, workspaceId } = yield* makeTenant()
      const { requests } = yield* ScriptedModel
      const first = yield* collect(chat.send(user, { workspaceId, content: "one" }))
      const conversationId = conversationOf(first)
      const second = yield* collect(chat.send(user, { workspaceId, content: "two", conversationId }))
      assert.isFalse(second[0]?.event === "conversation" && second[0].data.created)
      assert.deepStrictEqual(
        requests[1]?.messages.map((message) => [
          message.role,
          message.role === "tool" ? "" : message.content
        ]),
        [
          ["user", "one"],
          ["assistant", "ok"],
          ["user", "two"]
        ]
      )
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("refuses a second message while one is being answered, and takes it afterwards", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const { user, workspaceId } = yield* makeTenant()
      const { gate, started } = yield* slowModel
      const stream = yield* chat.send(user, { workspaceId, content: "first" })
      const reading = yield* Effect.forkChild(Stream.runCollect(Stream.map(stream, chatEvent)))
      yield* started.wait
      const conversationId = yield* underWay(user, workspaceId)
      const again = { workspaceId, content: "second", conversationId }
      assert.strictEqual((yield* Effect.flip(chat.send(user, again)))._tag, "ConversationBusy")
      yield* gate.open
      assert.strictEqual((yield* Fiber.join(reading)).at(-1)?.event, "done")
      assert.strictEqual((yield* collect(chat.send(user, again))).at(-1)?.event, "done")
      assert.deepStrictEqual(
        (yield* readChat(chat, user, conversationId)).messages.map(({ content }) => content),
        ["first", "onetwo", "second", "onetwo"]
      )
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("finishes and stores the reply when the reader leaves", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const { user, workspaceId } = yield* makeTenant()
      const { gate, started } = yield* slowModel
      const stream = yield* chat.send(user, { workspaceId, content: "hi" })
      const seen = yield* Stream.runCollect(Stream.take(stream, 1))
      yield* started.wait
      yield* gate.open
      yield* drain(60_000)
      const read = yield* readChat(chat, user, conversationOf(seen.map(chatEvent)))
      assert.strictEqual(read.messages.at(-1)?.content, "onetwo")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("ends the stream with error when the conversation is deleted meanwhile", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const { user, workspaceId } = yield* makeTenant()
      const { started } = yield* slowModel
      const reading = yield* Effect.forkChild(collect(chat.send(user, { workspaceId, content: "hi" })))
      yield* started.wait
      const conversationId = yield* underWay(user, workspaceId)
      yield* chat.remove(user, conversationId)
      const last = (yield* Fiber.join(reading)).at(-1)
      assert.deepInclude(last?.event === "error" ? last.data : {}, { code: "conversation_deleted" })
      assert.strictEqual((yield* Effect.flip(readChat(chat, user, conversationId)))._tag, "NotFound")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("ends a turn that began the moment the one before it was done", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const model = yield* ScriptedModel
      const { user, workspaceId } = yield* makeTenant()
      const first = yield* chat.send(user, { workspaceId, content: "one" })
      const conversationId = yield* underWay(user, workspaceId)
      const next = yield* makeGate
      const reading = yield* Effect.forkChild(
        Stream.runForEach(first, ({ event: { event } }) =>
          event === "done" ? Effect.asVoid(next.open) : Effect.void
        )
      )
      yield* next.wait
      model.script = () => Stream.never
      const second = yield* Effect.forkChild(
        collect(chat.send(user, { workspaceId, content: "two", conversationId }))
      )
      yield* Fiber.join(reading)
      while (model.requests.length < 2) yield* Effect.yieldNow
      yield* chat.remove(user, conversationId)
      assert.strictEqual((yield* Fiber.join(second)).at(-1)?.event, "error")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("ends the stream when another node deleted the conversation", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const repo = yield* ConversationRepo
      const { user, workspaceId } = yield* makeTenant()
      const { started } = yield* slowModel
      const reading = yield* Effect.forkChild(collect(chat.send(user, { workspaceId, content: "hi" })))
      yield* started.wait
      const conversationId = yield* underWay(user, workspaceId)
      yield* repo.remove(conversationId)
      yield* TestClock.adjust(Settings.defaults.leaseMillis)
      assert.strictEqual((yield* Fiber.join(reading)).at(-1)?.event, "error")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("keeps a long turn's claim alive", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const { user, workspaceId } = yield* makeTenant()
      const { gate, started } = yield* slowModel
      const reading = yield* Effect.forkChild(collect(chat.send(user, { workspaceId, content: "hi" })))
      yield* started.wait
      const conversationId = yield* underWay(user, workspaceId)
      yield* TestClock.adjust(Settings.defaults.leaseMillis * 3)
      const again = { workspaceId, content: "2", conversationId }
      assert.strictEqual((yield* Effect.flip(chat.send(user, again)))._tag, "ConversationBusy")
      yield* gate.open
      assert.strictEqual((yield* Fiber.join(reading)).at(-1)?.event, "done")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("answers a defect and a failing model with one error event that hides the cause", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const { user, workspaceId } = yield* makeTenant()
      const model = yield* ScriptedModel
      model.script = () => Stream.die(new Error("secret-in-a-stack"))
      const first = yield* collect(chat.send(user, { workspaceId, content: "hi" }))
      assert.deepStrictEqual(first.at(-1), {
        event: "error",
        data: { error: "internal error", code: "internal_error" }
      })
      assert.notInclude(JSON.stringify(first), "secret-in-a-stack")

      model.script = () => Stream.fail(new InferenceError({ reason: "rate_limited", error: "slow down" }))
      const conversationId = conversationOf(first)
      const second = yield* collect(chat.send(user, { workspaceId, content: "again", conversationId }))
      assert.deepStrictEqual(second.at(-1), {
        event: "error",
        data: { error: "slow down", code: "inference_rate_limited" }
      })
      assert.strictEqual(names(second).filter((name) => name === "error" || name === "done").length, 1)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("ends open turns with error when the service stops", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const { user, workspaceId } = yield* makeTenant()
      const { started } = yield* slowModel
      const reading = yield* Effect.forkChild(collect(chat.send(user, { workspaceId, content: "hi" })))
      yield* started.wait
      yield* (yield* Lifecycle).startDraining
      const draining = yield* Effect.forkChild(drain(10_000))
      yield* TestClock.adjust(10_000)
      yield* Fiber.join(draining)
      yield* (yield* Lifecycle).endDraining
      const last = (yield* Fiber.join(reading)).at(-1)
      assert.deepInclude(last?.event === "error" ? last.data : {}, { code: "unavailable" })
    }).pipe(Effect.provide(layerScripted()))
  )
})
