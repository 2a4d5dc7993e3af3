import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { AutonomyLevel } from "../../src/Schemas/Autonomy.ts"
import type { ConversationId, MessageId, RunId } from "../../src/Schemas/Ids.ts"
import type { InferenceEvent } from "../../src/Schemas/Inference.ts"
import type { EventBatch, NumberedEvent } from "../../src/Schemas/RunEvent.ts"
import { noUsage } from "../../src/Schemas/Usage.ts"
import { Approvals } from "../../src/Services/Approvals.ts"
import { Chat } from "../../src/Services/Chat.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import { Memory } from "../../src/Services/Memory.ts"
import { RunEventRepo } from "../../src/Services/RunEventRepo.ts"
import { RunJournal } from "../../src/Services/RunJournal.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { Runs } from "../../src/Services/Runs.ts"
import { append } from "../support/Appended.ts"
import { chatEvent, conversationOf, names, textOf } from "../support/ChatEvents.ts"
import { newId, newMessage, newRun } from "../support/Fixtures.ts"
import { listedFor, messagesOf, readChat } from "../support/Listed.ts"
import { finish, layerScripted, makeTenant, ScriptedModel, says } from "../support/Service.ts"

const remember = {
  type: "tool_call",
  call: { id: "c1", name: "remember", arguments: { key: "city", value: "Bonn" } }
} as const

/** Reads a stream to its end while time goes on. */
const readAll = Effect.fnUntraced(function* <A>(stream: Stream.Stream<A>, step = 100) {
  const reading = yield* Effect.forkChild(Stream.runCollect(stream))
  while (reading.pollUnsafe() === undefined) yield* TestClock.adjust(step)
  return yield* Fiber.join(reading)
})
const idsGrow = (events: ReadonlyArray<NumberedEvent>) =>
  events.every(({ id }, index) => index === 0 || id > (events[index - 1]?.id ?? 0))

/** A chat whose model remembers something, and then says what came of it. */
const subject = Effect.gen(function* () {
  const chat = yield* Chat
  const model = yield* ScriptedModel
  const tenant = yield* makeTenant()
  const { user, workspaceId } = tenant
  model.script = ({ messages }) =>
    Stream.fromIterable<InferenceEvent>(
      messages.at(-1)?.role === "tool"
        ? says("noted", ".")
        : [{ type: "text", delta: "Well. " }, remember, finish]
    )
  const send = (autonomyLevel?: AutonomyLevel) =>
    chat.send(user, { workspaceId, content: "hi", ...(autonomyLevel !== undefined && { autonomyLevel }) })
  const approvals = yield* Approvals
  const waiting = Effect.gen(function* () {
    while (true) {
      const found = yield* approvals.list(user, { workspaceId, limit: 9, offset: 0 })
      if (found.length > 0) return found
      yield* TestClock.adjust(10)
    }
  })
  return { approvals, chat, model, send, waiting, ...tenant }
})

describe("Chat turns that wait for people", () => {
  it.effect("ask about nothing that acts within the workspace alone, unless they are told to", () =>
    Effect.gen(function* () {
      const { approvals, send, user, workspaceId } = yield* subject
      const events = (yield* readAll(yield* send())).map(chatEvent)
      assert.strictEqual(events.at(-1)?.event, "done")
      assert.deepStrictEqual(yield* approvals.list(user, { workspaceId, limit: 9, offset: 0 }), [])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("go on in the same stream when somebody has decided", () =>
    Effect.gen(function* () {
      const { approvals, chat, model, send, user, waiting, workspaceId } = yield* subject
      const reading = yield* Effect.forkChild(Stream.runCollect(yield* send("supervised")))
      const [approval, ...others] = yield* waiting
      assert.deepStrictEqual(others, [])
      assert.deepInclude(approval, { tool: "remember", toolCallId: "c1" })
      yield* TestClock.adjust("1 hour")
      assert.isUndefined(reading.pollUnsafe())
      yield* approvals.decide(user, approval?.id ?? assert.fail(), { decision: "approve" })
      while (reading.pollUnsafe() === undefined) yield* TestClock.adjust(50)
      const numbered = yield* Fiber.join(reading)
      const events = numbered.map(chatEvent)
      assert.deepStrictEqual(
        numbered.map(({ id }) => id),
        numbered.map((_, index) => index + 1)
      )
      assert.deepStrictEqual(names(events), [
        "conversation",
        "status",
        "status",
        "tool_call",
        "status",
        "tool_result",
        "status",
        "status",
        "status",
        "done"
      ])
      assert.deepStrictEqual(events[4]?.data, {
        status: "waiting_approval",
        approvalId: approval?.id ?? assert.fail(),
        toolCallId: "c1"
      })
      const last = events.at(-1)
      assert.strictEqual(last?.event === "done" && last.data.message.content, "Well. noted.")
      assert.strictEqual(textOf(events), "Well. noted.")
      assert.strictEqual(model.requests.length, 2)
      assert.strictEqual((yield* listedFor(yield* Memory, user, { workspaceId })).length, 1)
      assert.deepStrictEqual(
        (yield* readChat(chat, user, conversationOf(events))).messages.map(({ content }) => content),
        ["hi", "Well. noted."]
      )
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("go on when nobody reads any more, and tell the model of a rejection", () =>
    Effect.gen(function* () {
      const { approvals, chat, model, send, user, waiting } = yield* subject
      const seen = yield* Stream.runCollect(Stream.take(yield* send("supervised"), 1))
      const [approval] = yield* waiting
      yield* approvals.decide(user, approval?.id ?? assert.fail(), { decision: "reject", reason: "no" })
      const id = conversationOf(seen.map(chatEvent))
      while ((yield* readChat(chat, user, id)).messages.length < 2) yield* TestClock.adjust(50)
      const last = model.requests[1]?.messages.at(-1)
      assert.isTrue(last?.role === "tool" && last.results[0]?.isError)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("end with an error when they are cancelled, and the conversation is free", () =>
    Effect.gen(function* () {
      const { chat, send, user, waiting, workspaceId } = yield* subject
      const reading = yield* Effect.forkChild(Stream.runCollect(yield* send("supervised")))
      const [approval] = yield* waiting
      yield* (yield* Runs).cancel(user, approval?.runId ?? assert.fail())
      while (reading.pollUnsafe() === undefined) yield* TestClock.adjust(50)
      const events = (yield* Fiber.join(reading)).map(chatEvent)
      assert.deepInclude(events.at(-1)?.data, { code: "cancelled" })
      const conversationId = conversationOf(events)
      const again = yield* readAll(yield* chat.send(user, { workspaceId, content: "2", conversationId }))
      assert.strictEqual(again.at(-1)?.event.event, "done")
    }).pipe(Effect.provide(layerScripted()))
  )
})

/** A turn whose worker died: what it had told, and what it had finished. */
const lost = Effect.fnUntraced(function* (options: { readonly hasStep: boolean }) {
  const { model, user, workspaceId } = yield* subject
  const conversations = yield* ConversationRepo
  const runs = yield* RunRepo
  const id = yield* newId<RunId>("turn")
  const conversationId = yield* newId<ConversationId>("conversation")
  const at = new Date(0)
  yield* conversations.insert({
    id: conversationId,
    workspaceId,
    projectId: null,
    title: "t",
    agentId: null,
    ownerId: user.id,
    chatId: null,
    isHidden: false,
    createdAt: at,
    updatedAt: at
  })
  yield* conversations.claimTurn(conversationId, id)
  yield* conversations.addMessage(conversationId, yield* newMessage({ content: "hi" }))
  const replyId = yield* newId<MessageId>("message")
  const run = yield* newRun(workspaceId, {
    id,
    turn: { conversationId, replyId },
    autonomyLevel: "autonomous"
  })
  const first: EventBatch = [
    {
      id: 1,
      event: {
        event: "conversation",
        data: { conversationId, title: "t", agentId: null, messageId: replyId, turnId: id, created: true }
      }
    }
  ]
  yield* runs.insert(run, { worker: "gone", leaseMillis: 0, perWorkspace: 1_000 }, [first])
  const gone = { id, worker: "gone", epoch: 1 }
  const says = (place: number, delta: string): NumberedEvent => ({
    id: place,
    event: { event: "status", data: { status: "responding", messageId: replyId, delta } }
  })
  const thinks = (place: number): NumberedEvent => ({
    id: place,
    event: { event: "status", data: { status: "thinking" } }
  })
  if (options.hasStep) {
    yield* (yield* RunJournal).record(
      gone,
      0,
      { type: "model", text: "Well. ", toolCalls: [remember.call], usage: noUsage },
      [[thinks(2), says(3, "Well. ")]]
    )
    yield* append(yield* RunEventRepo, gone, [
      [{ id: 4, event: { event: "tool_call", data: remember.call } }]
    ])
  } else {
    yield* append(yield* RunEventRepo, gone, [[thinks(2), says(3, "We")], [says(4, "l")]])
  }
  const all = yield* Runs
  const follow = (after: number) => Effect.map(all.events(user, id, after), Option.getOrThrow)
  return { conversationId, conversations, follow, id, model, replyId, user }
})

describe("Chat turns that lost their worker", () => {
  it.effect.each([true, false])("are finished by another (after a finished answer: %s)", (hasStep) =>
    Effect.gen(function* () {
      const { conversationId, conversations, follow, model, replyId } = yield* lost({ hasStep })
      const reader = yield* Effect.forkChild(readAll(yield* follow(6)))
      const rest = yield* Fiber.join(reader)
      // Whoever reads from the beginning sees nothing twice.
      const whole = yield* readAll(yield* follow(0))
      const events = whole.map(chatEvent)
      assert.isTrue(idsGrow(whole) && idsGrow(rest))
      assert.deepStrictEqual(
        events.flatMap(({ data, event }) =>
          event === "tool_call" || event === "tool_result" ? [data.id] : []
        ),
        ["c1", "c1"]
      )
      const last = events.at(-1)
      assert.isTrue(last?.event === "done")
      assert.strictEqual(textOf(events), "Well. noted.")
      assert.deepInclude(last?.event === "done" ? last.data.message : {}, {
        id: replyId,
        content: "Well. noted."
      })
      // Whoever read further than the log goes gets all that is told now.
      assert.isAbove(rest[0]?.id ?? 0, 1_000_000)
      assert.strictEqual(textOf(rest.map(chatEvent)), hasStep ? "noted." : "Well. noted.")
      assert.strictEqual(rest.at(-1)?.event.event, "done")
      assert.strictEqual(model.requests.length, hasStep ? 1 : 2)
      assert.deepStrictEqual(
        (yield* messagesOf(conversations, conversationId)).map(({ content }) => content),
        ["hi", "Well. noted."]
      )
      assert.isTrue(yield* conversations.claimTurn(conversationId, yield* newId<RunId>("turn")))
      assert.isTrue(Option.isSome(yield* conversations.find(conversationId)))
    }).pipe(Effect.provide(layerScripted()))
  )
})
