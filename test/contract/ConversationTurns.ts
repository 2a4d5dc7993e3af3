import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ConversationId, RunId } from "../../src/Schemas/Ids.ts"
import type { PromptMessage } from "../../src/Schemas/Inference.ts"
import { noUsage } from "../../src/Schemas/Usage.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeConversation, makeWorkspace, newId, newMessage, unicode } from "../support/Fixtures.ts"
import { messagesOf } from "../support/Listed.ts"

const newTurn = newId<RunId>("turn")
const trace = { parts: [], usage: noUsage }

const subject = Effect.gen(function* () {
  const conversations = yield* ConversationRepo
  const { id } = yield* makeConversation(yield* makeWorkspace)
  return { conversations, id, first: yield* newTurn, second: yield* newTurn }
})

export const suite = (it: It) =>
  describe("ConversationRepo, turns", () => {
    it.effect("gives a conversation to one turn", () =>
      Effect.gen(function* () {
        const { conversations, first, id, second } = yield* subject
        assert.isTrue(yield* conversations.claimTurn(id, first))
        assert.isFalse(yield* conversations.claimTurn(id, second))
        assert.isFalse(yield* conversations.claimTurn(id, first))
      })
    )

    it.effect("lets one of 20 turns at the same time win", () =>
      Effect.gen(function* () {
        const { conversations, id } = yield* subject
        const turns = yield* Effect.replicateEffect(newTurn, 20)
        const claimed = yield* Effect.forEach(turns, (turnId) => conversations.claimTurn(id, turnId), {
          concurrency: "unbounded"
        })
        assert.strictEqual(claimed.filter((won) => won).length, 1)
        const removed = Option.getOrThrow(yield* conversations.remove(id))
        assert.strictEqual(removed.turnId, turns[claimed.indexOf(true)])
      })
    )

    it.effect("claims nothing where there is no conversation", () =>
      Effect.gen(function* () {
        const { conversations, first } = yield* subject
        const nowhere = yield* newId<ConversationId>("conversation")
        assert.isFalse(yield* conversations.claimTurn(nowhere, first))
        assert.isFalse(yield* conversations.addReply(nowhere, yield* newMessage(), trace))
        assert.isTrue(Option.isNone(yield* conversations.remove(nowhere)))
      })
    )

    it.effect("stores a reply once, however often it is written", () =>
      Effect.gen(function* () {
        const { conversations, id } = yield* subject
        const reply = yield* newMessage({ role: "ASSISTANT", createdAt: at(42) })
        assert.isTrue(yield* conversations.addReply(id, reply, trace))
        assert.isTrue(yield* conversations.addReply(id, reply, trace))
        assert.deepStrictEqual(yield* messagesOf(conversations, id), [reply])
        assert.deepStrictEqual(Option.getOrThrow(yield* conversations.find(id)).updatedAt, at(42))
      })
    )

    it.effect("never moves a conversation back by a reply that began before its last message", () =>
      Effect.gen(function* () {
        const { conversations, id } = yield* subject
        yield* conversations.addMessage(id, yield* newMessage({ createdAt: at(90) }))
        const reply = yield* newMessage({ role: "ASSISTANT", createdAt: at(42) })
        assert.isTrue(yield* conversations.addReply(id, reply, trace))
        assert.deepStrictEqual(Option.getOrThrow(yield* conversations.find(id)).updatedAt, at(90))
      })
    )

    it.effect("keeps how a reply came about beside it, for models alone", () =>
      Effect.gen(function* () {
        const { conversations, id } = yield* subject
        const question = yield* newMessage({ content: "Why?" })
        yield* conversations.addMessage(id, question)
        const reply = yield* newMessage({ role: "ASSISTANT", content: "Because." })
        const parts: ReadonlyArray<PromptMessage> = [
          {
            role: "assistant",
            content: "",
            toolCalls: [
              { id: "c", name: "t", arguments: { a: unicode }, providerMetadata: { p: { s: "x" } } }
            ]
          },
          {
            role: "tool",
            results: [{ id: "c", name: "t", result: [1, null], isError: false, durationMs: 2 }]
          },
          { role: "assistant", content: "Because.", toolCalls: [] }
        ]
        const usage = { inputTokens: 3, outputTokens: 4 }
        assert.isTrue(yield* conversations.addReply(id, reply, { parts, usage }))
        assert.deepStrictEqual(yield* messagesOf(conversations, id), [question, reply])
        assert.deepStrictEqual(yield* conversations.history(id, 1_000_000), [
          { ...question, parts: null },
          { ...reply, parts }
        ])
        assert.deepStrictEqual(
          yield* conversations.history(yield* newId<ConversationId>("conversation"), 10),
          []
        )
      })
    )

    it.effect("removes a message and all behind it, but for the one that is kept", () =>
      Effect.gen(function* () {
        const { conversations, id } = yield* subject
        const other = yield* subject
        const messages = yield* Effect.forEach(["a", "b", "c", "d"], (content) => newMessage({ content }))
        for (const message of messages) yield* conversations.addMessage(id, message)
        const foreign = yield* newMessage({ content: "z" })
        yield* other.conversations.addMessage(other.id, foreign)
        const [, b, , d] = messages
        if (b === undefined || d === undefined) return assert.fail("no messages")
        const contents = (of: ConversationId) =>
          Effect.map(conversations.history(of, 1_000), (all) => all.map(({ content }) => content).join(""))
        // Of another conversation, and of none.
        yield* conversations.rewind(id, foreign.id, d.id)
        yield* conversations.rewind(other.id, b.id, d.id)
        assert.deepStrictEqual([yield* contents(id), yield* contents(other.id)], ["abcd", "z"])
        yield* conversations.rewind(id, b.id, d.id)
        assert.deepStrictEqual([yield* contents(id), yield* contents(other.id)], ["ad", "z"])
        const reply = yield* newMessage({ content: "e", role: "ASSISTANT" })
        assert.isTrue(yield* conversations.addReply(id, reply, { parts: [], usage: noUsage }))
        assert.strictEqual(yield* contents(id), "ade")
      })
    )

    it.effect("gives the newest history that fits, and one message more", () =>
      Effect.gen(function* () {
        const { conversations, id } = yield* subject
        for (let index = 0; index < 5; index++) {
          yield* conversations.addMessage(id, yield* newMessage({ content: `${index}`.repeat(100) }))
        }
        const shown = (maximumBytes: number) =>
          Effect.map(conversations.history(id, maximumBytes), (entries) =>
            entries.map(({ content }) => content[0]).join("")
          )
        assert.strictEqual(yield* shown(1), "4")
        assert.strictEqual(yield* shown(100), "4")
        assert.strictEqual(yield* shown(101), "34")
        assert.strictEqual(yield* shown(250), "234")
        assert.strictEqual(yield* shown(10_000), "01234")
      })
    )
  })
