import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ConversationId, TurnId } from "../../src/Schemas/Ids.ts"
import type { PromptMessage } from "../../src/Schemas/Inference.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeConversation, makeWorkspace, newId, newMessage, unicode } from "../support/Fixtures.ts"

const minute = 60_000
const newTurn = newId<TurnId>("turn")

const subject = Effect.gen(function* () {
  const conversations = yield* ConversationRepo
  const { id } = yield* makeConversation(yield* makeWorkspace)
  const claim = (turnId: TurnId, leaseMillis: number, worker = "worker") =>
    conversations.claimTurn(id, { turnId, worker, leaseMillis })
  return { claim, conversations, id, first: yield* newTurn, second: yield* newTurn }
})

export const suite = (it: It) =>
  describe("ConversationRepo, turns", () => {
    it.effect("gives a conversation to one turn at a time", () =>
      Effect.gen(function* () {
        const { claim, conversations, first, id, second } = yield* subject
        assert.isTrue(yield* claim(first, minute))
        assert.isFalse(yield* claim(second, minute))
        assert.isTrue(yield* conversations.finishTurn(id, first, null))
        assert.isTrue(yield* claim(second, minute))
      })
    )

    it.effect("lets one of 20 turns at the same time win", () =>
      Effect.gen(function* () {
        const { claim, conversations, id } = yield* subject
        const turns = yield* Effect.replicateEffect(newTurn, 20)
        const claimed = yield* Effect.forEach(turns, (turnId) => claim(turnId, minute), {
          concurrency: "unbounded"
        })
        assert.strictEqual(claimed.filter((won) => won).length, 1)
        const renewed = yield* Effect.forEach(turns, (turnId) => conversations.renewTurn(id, turnId, minute))
        assert.deepStrictEqual(renewed, claimed)
      })
    )

    it.effect("lets one of 20 turns take over when the lease has ended", () =>
      Effect.gen(function* () {
        const { claim, first } = yield* subject
        yield* claim(first, 0)
        const turns = yield* Effect.replicateEffect(newTurn, 20)
        const claimed = yield* Effect.forEach(turns, (turnId) => claim(turnId, minute), {
          concurrency: "unbounded"
        })
        assert.strictEqual(claimed.filter((won) => won).length, 1)
      })
    )

    it.effect("claims nothing where there is no conversation", () =>
      Effect.gen(function* () {
        const { conversations, first } = yield* subject
        const nowhere = yield* newId<ConversationId>("conversation")
        const turn = { turnId: first, worker: "worker", leaseMillis: minute }
        assert.isFalse(yield* conversations.claimTurn(nowhere, turn))
        assert.isFalse(yield* conversations.renewTurn(nowhere, first, minute))
        assert.isFalse(yield* conversations.finishTurn(nowhere, first, null))
      })
    )

    it.effect("prolongs a claim, so that nobody else gets in", () =>
      Effect.gen(function* () {
        const { claim, conversations, first, id, second } = yield* subject
        yield* claim(first, 0)
        assert.isTrue(yield* conversations.renewTurn(id, first, minute))
        assert.isFalse(yield* claim(second, minute))
      })
    )

    it.effect("does not prolong a claim that another turn has, or that ended", () =>
      Effect.gen(function* () {
        const { claim, conversations, first, id, second } = yield* subject
        yield* claim(first, 0)
        yield* claim(second, 0)
        assert.isFalse(yield* conversations.renewTurn(id, first, minute))
        assert.isTrue(yield* conversations.renewTurn(id, second, minute))
        yield* conversations.finishTurn(id, second, null)
        assert.isFalse(yield* conversations.renewTurn(id, second, minute))
      })
    )

    it.effect("loses the claim with the conversation", () =>
      Effect.gen(function* () {
        const { claim, conversations, first, id } = yield* subject
        yield* claim(first, minute)
        yield* conversations.remove(id)
        assert.isFalse(yield* conversations.renewTurn(id, first, minute))
        assert.isFalse(yield* conversations.finishTurn(id, first, yield* newMessage()))
        assert.deepStrictEqual(yield* conversations.messages(id), [])
      })
    )

    it.effect("stores the reply with the end of the claim, once", () =>
      Effect.gen(function* () {
        const { claim, conversations, first, id } = yield* subject
        yield* claim(first, minute)
        const reply = yield* newMessage({ role: "ASSISTANT", createdAt: at(42) })
        assert.isTrue(yield* conversations.finishTurn(id, first, reply))
        assert.isFalse(yield* conversations.finishTurn(id, first, yield* newMessage()))
        assert.deepStrictEqual(yield* conversations.messages(id), [reply])
        assert.deepStrictEqual(Option.getOrThrow(yield* conversations.find(id)).updatedAt, at(42))
      })
    )

    it.effect("keeps how a reply came about beside it, for models alone", () =>
      Effect.gen(function* () {
        const { claim, conversations, first, id } = yield* subject
        const question = yield* newMessage({ content: "Why?" })
        yield* conversations.addMessage(id, question)
        yield* claim(first, minute)
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
        assert.isTrue(yield* conversations.finishTurn(id, first, reply, { parts, usage }))
        assert.deepStrictEqual(yield* conversations.messages(id), [question, reply])
        assert.deepStrictEqual(yield* conversations.history(id, 1_000_000), [
          { role: "USER", content: "Why?", parts: null },
          { role: "ASSISTANT", content: "Because.", parts }
        ])
        assert.deepStrictEqual(
          yield* conversations.history(yield* newId<ConversationId>("conversation"), 10),
          []
        )
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

    it.effect("ends a claim without a reply, and changes nothing", () =>
      Effect.gen(function* () {
        const { claim, conversations, first, id } = yield* subject
        const before = yield* conversations.find(id)
        yield* claim(first, minute)
        assert.isTrue(yield* conversations.finishTurn(id, first, null))
        assert.deepStrictEqual(yield* conversations.messages(id), [])
        assert.deepStrictEqual(yield* conversations.find(id), before)
      })
    )

    it.effect("stores no reply of a turn that lost its claim", () =>
      Effect.gen(function* () {
        const { claim, conversations, first, id, second } = yield* subject
        yield* claim(first, 0)
        yield* claim(second, minute)
        const before = yield* conversations.find(id)
        assert.isFalse(yield* conversations.finishTurn(id, first, yield* newMessage()))
        assert.isFalse(yield* conversations.finishTurn(id, first, null))
        assert.deepStrictEqual(yield* conversations.messages(id), [])
        assert.deepStrictEqual(yield* conversations.find(id), before)
        assert.isTrue(yield* conversations.renewTurn(id, second, minute))
      })
    )

    it.effect("releases every claim of one worker, and no other", () =>
      Effect.gen(function* () {
        const gone = `gone ${yield* newTurn}`
        const [one, two, other] = [yield* subject, yield* subject, yield* subject]
        yield* one.claim(one.first, minute, gone)
        yield* two.claim(two.first, minute, gone)
        yield* other.claim(other.first, minute, `${gone}!`)
        yield* one.conversations.releaseTurns(gone)
        assert.isFalse(yield* one.conversations.finishTurn(one.id, one.first, yield* newMessage()))
        assert.isTrue(yield* one.claim(one.second, minute))
        assert.isTrue(yield* two.claim(two.second, minute))
        assert.isFalse(yield* other.claim(other.second, minute))
      })
    )
  })
