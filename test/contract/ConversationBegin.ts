import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { PlanLimitExceeded } from "../../src/Schemas/Connector.ts"
import type { StoredConversation } from "../../src/Schemas/Conversation.ts"
import { ReferenceGone } from "../../src/Schemas/Errors.ts"
import type { AgentId, ConversationId, MessageId, RunId } from "../../src/Schemas/Ids.ts"
import { type NewTurn, newTurn } from "../../src/Schemas/Turn.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import { RunEventRepo } from "../../src/Services/RunEventRepo.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeAgent, makeConversation, makeUser, makeWorkspace, newId } from "../support/Fixtures.ts"
import { messagesOf } from "../support/Listed.ts"
import { completed, minute, times } from "./RunSubject.ts"

const start = { worker: "w", kind: "turn", leaseMillis: minute, perWorkspace: 2, perOwner: 32 } as const

/** Turns of somebody in a workspace, each at its own second. */
const subject = Effect.gen(function* () {
  const [conversations, events, runs] = [yield* ConversationRepo, yield* RunEventRepo, yield* RunRepo]
  const workspaceId = yield* makeWorkspace
  const { id: sender } = yield* makeUser
  const make = Effect.fnUntraced(function* (
    seconds: number,
    existing: StoredConversation | null = null,
    agentId?: AgentId
  ) {
    const ids = {
      turn: yield* newId<RunId>("turn"),
      message: yield* newId<MessageId>("message"),
      reply: yield* newId<MessageId>("message"),
      conversation: yield* newId<ConversationId>("conversation")
    }
    const agent = agentId === undefined ? null : Option.getOrThrow(yield* (yield* AgentRepo).find(agentId))
    const input = { workspaceId, content: `What is ${seconds}?` }
    return newTurn({ input, existing, agent, sender, ids, at: at(seconds) })
  })
  const found = (id: ConversationId) => Effect.map(conversations.find(id), Option.getOrThrow)
  const end = ({ run }: NewTurn) => runs.finish({ id: run.id, worker: "w", epoch: 1 }, completed, times)
  /** What is stored of a turn: its run, its message and its event. */
  const storedOf = Effect.fnUntraced(function* ({ conversation, message, run }: NewTurn) {
    const said = yield* messagesOf(conversations, conversation.id)
    return {
      status: Option.getOrUndefined(yield* runs.find(run.id))?.status,
      isSaid: said.some(({ id }) => id === message.id),
      events: (yield* events.read(run.id, 0, 9)).length
    }
  })
  return { conversations, end, found, make, runs, storedOf, workspaceId }
})

const nothing = { status: undefined, isSaid: false, events: 0 }

export const suite = (it: It) =>
  describe("ConversationRepo, messages and turns that begin", () => {
    it.effect("stores a new conversation with its message, turn and first event", () =>
      Effect.gen(function* () {
        const { conversations, found, make, runs, storedOf } = yield* subject
        const turn = yield* make(1)
        const begun = yield* conversations.begin(turn, { isNew: true, start })
        assert.deepStrictEqual(begun, Option.some(true))
        assert.deepInclude(yield* found(turn.conversation.id), { ...turn.conversation, agent: null })
        assert.deepStrictEqual(yield* messagesOf(conversations, turn.conversation.id), [turn.message])
        assert.deepStrictEqual(yield* storedOf(turn), { status: "RUNNING", isSaid: true, events: 1 })
        assert.deepInclude(Option.getOrThrow(yield* runs.find(turn.run.id)), {
          turn: turn.run.turn,
          attempts: 1,
          epoch: 1
        })
        const waiting = yield* make(2)
        assert.deepStrictEqual(yield* conversations.begin(waiting, { isNew: true }), Option.some(false))
        assert.deepStrictEqual(yield* storedOf(waiting), { status: "PENDING", isSaid: true, events: 1 })
      })
    )

    it.effect("starts none behind one that waits, or where as many run as may", () =>
      Effect.gen(function* () {
        const { conversations, make } = yield* subject
        const begin = Effect.flatMap(make(1), (turn) => conversations.begin(turn, { isNew: true, start }))
        const begun = yield* Effect.replicateEffect(begin, 4)
        assert.deepStrictEqual(begun.map(Option.getOrThrow), [true, true, false, false])
      })
    )

    it.effect("goes on in a conversation when its turn is over, and not before", () =>
      Effect.gen(function* () {
        const { conversations, end, found, make, storedOf, workspaceId } = yield* subject
        const first = yield* make(1)
        yield* conversations.begin(first, { isNew: true, start })
        const existing = yield* found(first.conversation.id)
        const agent = yield* makeAgent(workspaceId)
        const next = yield* make(2, existing, agent.id)
        assert.deepStrictEqual(yield* conversations.begin(next, { isNew: false, start }), Option.none())
        assert.deepStrictEqual(yield* storedOf(next), nothing)
        assert.deepStrictEqual(yield* found(existing.id), existing)
        yield* end(first)
        assert.deepStrictEqual(yield* conversations.begin(next, { isNew: false, start }), Option.some(true))
        assert.deepInclude(yield* found(existing.id), {
          title: existing.title,
          agentId: agent.id,
          createdAt: existing.createdAt,
          updatedAt: at(2)
        })
        assert.deepStrictEqual(yield* messagesOf(conversations, existing.id), [first.message, next.message])
        yield* end(next)
        // One who names no agent leaves the one that there is.
        const last = yield* make(3, existing)
        assert.deepStrictEqual(yield* conversations.begin(last, { isNew: false, start }), Option.some(true))
        assert.deepInclude(yield* found(existing.id), { agentId: agent.id, updatedAt: at(3) })
      })
    )

    it.effect("stores nothing where the conversation, or what is named, is gone", () =>
      Effect.gen(function* () {
        const { conversations, found, make, storedOf, workspaceId } = yield* subject
        const { id } = yield* makeConversation(workspaceId)
        const existing = yield* found(id)
        const agent = yield* makeAgent(workspaceId)
        const [late, named] = [yield* make(1, existing), yield* make(1, null, agent.id)]
        const again = yield* make(1, existing, agent.id)
        yield* (yield* AgentRepo).remove(agent.id)
        for (const [turn, isNew] of [
          [named, true],
          [again, false]
        ] as const) {
          const error = yield* Effect.flip(conversations.begin(turn, { isNew, start }))
          assert.deepStrictEqual(error, new ReferenceGone({ field: "agentId" }))
          assert.deepStrictEqual(yield* storedOf(turn), nothing)
        }
        assert.isTrue(Option.isNone(yield* conversations.find(named.conversation.id)))
        yield* conversations.remove(id)
        assert.deepStrictEqual(yield* conversations.begin(late, { isNew: false, start }), Option.none())
        assert.deepStrictEqual(yield* storedOf(late), nothing)
      })
    )

    it.effect("refuses one that is too many to wait, and keeps nothing of it", () =>
      Effect.gen(function* () {
        const { conversations, found, make, storedOf, workspaceId } = yield* subject
        const most = { mostPending: { free: 1, pro: 1 } }
        assert.deepStrictEqual(
          yield* conversations.begin(yield* make(1), { isNew: true, ...most }),
          Option.some(false)
        )
        const existing = yield* found((yield* makeConversation(workspaceId)).id)
        for (const [turn, isNew] of [
          [yield* make(2), true],
          [yield* make(2, existing), false]
        ] as const) {
          const error = yield* Effect.flip(conversations.begin(turn, { isNew, ...most }))
          assert.instanceOf(error, PlanLimitExceeded)
          assert.deepStrictEqual(yield* storedOf(turn), nothing)
        }
        assert.deepStrictEqual(yield* found(existing.id), existing)
        // It is as free as it was; one that is not says that first.
        const turn = yield* make(3, existing)
        assert.deepStrictEqual(yield* conversations.begin(turn, { isNew: false }), Option.some(false))
        const busy = yield* make(4, existing)
        assert.deepStrictEqual(yield* conversations.begin(busy, { isNew: false, ...most }), Option.none())
      })
    )

    it.effect("lets one of 20 turns at the same time win a conversation", () =>
      Effect.gen(function* () {
        const { conversations, found, make, storedOf, workspaceId } = yield* subject
        const existing = yield* found((yield* makeConversation(workspaceId)).id)
        const turns = yield* Effect.replicateEffect(make(1, existing), 20)
        const begun = yield* Effect.forEach(
          turns,
          (turn) => conversations.begin(turn, { isNew: false, start }),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(begun.filter(Option.isSome).length, 1)
        const stored = yield* Effect.forEach(turns, storedOf)
        assert.strictEqual(stored.filter(({ isSaid }) => isSaid).length, 1)
        assert.strictEqual(stored.filter(({ status }) => status === "RUNNING").length, 1)
      })
    )
  })
