import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { ConversationBusy } from "../../src/Schemas/Conversation.ts"
import { InvalidInput } from "../../src/Schemas/Errors.ts"
import type { MessageId } from "../../src/Schemas/Ids.ts"
import type { NumberedEvent } from "../../src/Schemas/RunEvent.ts"
import type { SendTurn } from "../../src/Schemas/Turn.ts"
import { plainInput } from "../../src/Schemas/TurnInput.ts"
import { Chat } from "../../src/Services/Chat.ts"
import { Turns } from "../../src/Services/Turns.ts"
import { readChat } from "../support/Listed.ts"
import { layerScripted, makeTenant, ScriptedModel, says } from "../support/Service.ts"

const placeOf = ([first]: ReadonlyArray<NumberedEvent>) =>
  first?.event.event === "conversation" ? first.event.data : assert.fail("the first event says where it is")

const subject = Effect.gen(function* () {
  const chat = yield* Chat
  const turns = yield* Turns
  const model = yield* ScriptedModel
  const { user, workspaceId } = yield* makeTenant()
  /** What models were shown of each question. */
  const shown: Array<ReadonlyArray<unknown>> = []
  model.script = ({ messages }) => {
    shown.push(messages.map((message) => ("content" in message ? message.content : message.role)))
    return Stream.fromIterable(says(`answer ${shown.length}`))
  }
  const begin = (input: Partial<SendTurn> & { readonly content: string }) =>
    chat.send(user, { workspaceId, ...input })
  /** A message and its answer: where it is, and the reply. */
  const ask = Effect.fnUntraced(function* (content: string, input: Partial<SendTurn> = {}) {
    const reading = yield* Effect.forkChild(
      Effect.scoped(Effect.flatMap(begin({ content, ...input }), Stream.runCollect))
    )
    while (reading.pollUnsafe() === undefined) yield* TestClock.adjust(100)
    const events = yield* Fiber.join(reading)
    const { conversationId, turnId } = placeOf(events)
    const { input: given, reply } = yield* turns.get(user, turnId)
    return { conversationId, given, replyId: reply?.id ?? assert.fail("no reply"), turnId }
  })
  const contents = (id: Parameters<typeof readChat>[2]) =>
    Effect.map(readChat(chat, user, id), ({ messages }) => messages.map(({ content }) => content))
  return { ask, begin, chat, contents, model, shown, turns, user, workspaceId }
})

describe("Chat, where a message begins", () => {
  it.effect("is behind the message that it follows, and else in a copy", () =>
    Effect.gen(function* () {
      const { ask, contents, shown } = yield* subject
      const first = yield* ask("one")
      const { conversationId } = first
      const second = yield* ask("two", { conversationId, after: first.replyId })
      assert.strictEqual(second.conversationId, conversationId)
      const other = yield* ask("three", { conversationId, after: first.replyId })
      assert.notStrictEqual(other.conversationId, conversationId)
      assert.deepStrictEqual(yield* contents(conversationId), ["one", "answer 1", "two", "answer 2"])
      assert.deepStrictEqual(yield* contents(other.conversationId), ["one", "answer 1", "three", "answer 3"])
      assert.deepStrictEqual(shown.at(-1), ["one", "answer 1", "three"])
      const on = yield* ask("four", { conversationId: other.conversationId, after: other.replyId })
      assert.strictEqual(on.conversationId, other.conversationId)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("is a copy that no list shows, also behind the last message", () =>
    Effect.gen(function* () {
      const { ask, chat, contents, user, workspaceId } = yield* subject
      const { conversationId, replyId } = yield* ask("one")
      const hidden = yield* ask("two", { conversationId, after: replyId, isHidden: true })
      assert.deepStrictEqual(yield* contents(hidden.conversationId), ["one", "answer 1", "two", "answer 2"])
      assert.deepStrictEqual(yield* contents(conversationId), ["one", "answer 1"])
      const listed = yield* chat.list(user, { workspaceId, limit: 9, offset: 0 })
      assert.deepStrictEqual(
        listed.map(({ id }) => id),
        [conversationId]
      )
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("is a copy while the message that it follows is followed by one that is answered", () =>
    Effect.gen(function* () {
      const { ask, begin, contents, model } = yield* subject
      const { conversationId, replyId } = yield* ask("one")
      const script = model.script
      model.script = () => Stream.never
      const slow = yield* Effect.scoped(
        Effect.flatMap(begin({ content: "slow", conversationId, after: replyId }), (events) =>
          Stream.runCollect(Stream.take(events, 1))
        )
      )
      assert.strictEqual(placeOf(slow).conversationId, conversationId)
      model.script = script
      const other = yield* ask("two", { conversationId, after: replyId })
      assert.deepStrictEqual(yield* contents(other.conversationId), ["one", "answer 1", "two", "answer 2"])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("is refused behind what is no message of the conversation", () =>
    Effect.gen(function* () {
      const { ask, begin } = yield* subject
      const [{ conversationId }, other] = [yield* ask("one"), yield* ask("two")]
      for (const after of ["msg_none" as MessageId, other.replyId]) {
        const error = yield* Effect.flip(Effect.scoped(begin({ content: "three", conversationId, after })))
        assert.instanceOf(error, InvalidInput)
        assert.include(error.error, "conversationId")
      }
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("is the chat of that name, which the first message makes", () =>
    Effect.gen(function* () {
      const { ask, begin, contents, turns, user, workspaceId } = yield* subject
      const first = yield* ask("one", { chatId: "mine" })
      const second = yield* ask("two", { chatId: "mine" })
      assert.strictEqual(second.conversationId, first.conversationId)
      assert.deepStrictEqual(yield* contents(first.conversationId), ["one", "answer 1", "two", "answer 2"])
      for (const name of ["mine", first.conversationId]) {
        const { conversation, turn } = yield* turns.chat(user, workspaceId, name)
        assert.deepStrictEqual([conversation.id, turn?.id], [first.conversationId, second.turnId])
      }
      const { conversationId, replyId } = first
      const copied = yield* ask("three", { chatId: "other", conversationId, after: replyId })
      assert.deepStrictEqual(yield* contents(copied.conversationId), ["one", "answer 1", "three", "answer 3"])
      const again = begin({ content: "x", chatId: "other", conversationId, after: replyId })
      assert.instanceOf(yield* Effect.flip(Effect.scoped(again)), ConversationBusy)
      for (const chatId of ["", "a\u0000b", "x".repeat(256)]) {
        const error = yield* Effect.flip(Effect.scoped(begin({ content: "x", chatId })))
        assert.instanceOf(error, InvalidInput)
        assert.match(error.error, /^chatId: must /)
      }
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("is one conversation for all who begin the chat at the same time", () =>
    Effect.gen(function* () {
      const { begin, chat, user, workspaceId } = yield* subject
      const sent = yield* Effect.forEach(
        Array.from({ length: 9 }, (_, n) => `${n}`),
        (content) =>
          Effect.option(
            Effect.scoped(
              Effect.flatMap(begin({ content, chatId: "mine" }), (events) =>
                Stream.runCollect(Stream.take(events, 1))
              )
            )
          ),
        { concurrency: "unbounded" }
      )
      assert.isNotEmpty(sent.filter(Option.isSome))
      assert.lengthOf(yield* chat.list(user, { workspaceId, limit: 9, offset: 0 }), 1)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("keeps what the turn is asked beside its conversation", () =>
    Effect.gen(function* () {
      const { ask } = yield* subject
      const given = { ...plainInput, instructions: "Be brief." }
      assert.deepStrictEqual((yield* ask("one", { given })).given, given)
      assert.isNull((yield* ask("two")).given)
    }).pipe(Effect.provide(layerScripted()))
  )
})
