import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { AgentId, ConversationId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { ConversationRepo } from "../../src/Services/ConversationRepo.ts"
import type { It } from "../support/Backends.ts"
import {
  at,
  makeAgent,
  makeConversation,
  makeProject,
  makeUser,
  makeWorkspace,
  newId,
  newMessage,
  unicode
} from "../support/Fixtures.ts"
import { messagesOf } from "../support/Listed.ts"

const listIds = Effect.fnUntraced(function* (workspaceId: WorkspaceId, limit = 100, offset = 0) {
  const found = yield* (yield* ConversationRepo).list({ workspaceId, limit, offset })
  return found.map(({ id }) => id)
})

export const suite = (it: It) =>
  describe("ConversationRepo", () => {
    it.effect("finds what was inserted, with the name of its agent", () =>
      Effect.gen(function* () {
        const conversations = yield* ConversationRepo
        const workspaceId = yield* makeWorkspace
        const agent = yield* makeAgent(workspaceId, { name: unicode })
        const inserted = yield* makeConversation(workspaceId, {
          projectId: (yield* makeProject(workspaceId)).id,
          title: unicode,
          agentId: agent.id,
          updatedAt: at(1)
        })
        assert.deepStrictEqual(
          yield* conversations.find(inserted.id),
          Option.some({ ...inserted, agent: { id: agent.id, name: unicode } })
        )
      })
    )

    it.effect("keeps nulls, and finds none where there is none", () =>
      Effect.gen(function* () {
        const conversations = yield* ConversationRepo
        const inserted = yield* makeConversation(yield* makeWorkspace)
        assert.deepStrictEqual(
          yield* conversations.find(inserted.id),
          Option.some({ ...inserted, agent: null })
        )
        const id = yield* newId<ConversationId>("conversation")
        assert.deepStrictEqual(yield* conversations.find(id), Option.none())
      })
    )

    it.effect("sets the agent, and nothing else", () =>
      Effect.gen(function* () {
        const conversations = yield* ConversationRepo
        const workspaceId = yield* makeWorkspace
        const agent = yield* makeAgent(workspaceId)
        const inserted = yield* makeConversation(workspaceId)
        yield* conversations.setAgent(inserted.id, agent.id)
        assert.deepStrictEqual(
          yield* conversations.find(inserted.id),
          Option.some({ ...inserted, agentId: agent.id, agent: { id: agent.id, name: agent.name } })
        )
        const nowhere = yield* newId<ConversationId>("conversation")
        yield* conversations.setAgent(nowhere, yield* newId<AgentId>("agent"))
        assert.deepStrictEqual(yield* conversations.find(nowhere), Option.none())
      })
    )

    it.effect("has messages in the order of writing, whatever their time stamps", () =>
      Effect.gen(function* () {
        const conversations = yield* ConversationRepo
        const { id } = yield* makeConversation(yield* makeWorkspace)
        const other = yield* makeConversation(yield* makeWorkspace)
        const [third, second] = [yield* newMessage(), yield* newMessage()]
        const written = [
          yield* newMessage({ createdAt: at(3), content: unicode }),
          { ...second, createdAt: at(2), role: "ASSISTANT" as const },
          { ...third, createdAt: at(2) }
        ]
        for (const message of written) {
          assert.isTrue(yield* conversations.addMessage(id, message))
          yield* conversations.addMessage(other.id, yield* newMessage())
        }
        assert.deepStrictEqual(yield* messagesOf(conversations, id), written)
      })
    )

    it.effect("moves updatedAt on with a message", () =>
      Effect.gen(function* () {
        const conversations = yield* ConversationRepo
        const { id } = yield* makeConversation(yield* makeWorkspace)
        yield* conversations.addMessage(id, yield* newMessage({ createdAt: at(77) }))
        assert.deepStrictEqual(Option.getOrThrow(yield* conversations.find(id)).updatedAt, at(77))
      })
    )

    it.effect("loses none of 20 messages that are written at the same time", () =>
      Effect.gen(function* () {
        const conversations = yield* ConversationRepo
        const { id } = yield* makeConversation(yield* makeWorkspace)
        const written = yield* Effect.replicateEffect(newMessage(), 20)
        yield* Effect.forEach(written, (message) => conversations.addMessage(id, message), {
          concurrency: "unbounded"
        })
        const stored = yield* messagesOf(conversations, id)
        assert.deepStrictEqual(new Set(stored.map((one) => one.id)), new Set(written.map((one) => one.id)))
        assert.strictEqual(stored.length, 20)
      })
    )

    it.effect("has no messages and takes none where there is no conversation", () =>
      Effect.gen(function* () {
        const conversations = yield* ConversationRepo
        const id = yield* newId<ConversationId>("conversation")
        assert.isFalse(yield* conversations.addMessage(id, yield* newMessage()))
        assert.deepStrictEqual(yield* messagesOf(conversations, id), [])
      })
    )

    it.effect("lists the latest updated first, those of one moment by id, in pages", () =>
      Effect.gen(function* () {
        const conversations = yield* ConversationRepo
        const workspaceId = yield* makeWorkspace
        const a = yield* makeConversation(workspaceId, { updatedAt: at(2) })
        const b = yield* makeConversation(workspaceId, { updatedAt: at(2) })
        const c = yield* makeConversation(workspaceId, { updatedAt: at(1) })
        const d = yield* makeConversation(workspaceId, { updatedAt: at() })
        yield* makeConversation(yield* makeWorkspace)
        yield* conversations.addMessage(d.id, yield* newMessage({ createdAt: at(3) }))
        assert.deepStrictEqual(yield* listIds(workspaceId), [d.id, b.id, a.id, c.id])
        assert.deepStrictEqual(yield* listIds(workspaceId, 2), [d.id, b.id])
        assert.deepStrictEqual(yield* listIds(workspaceId, 2, 1), [b.id, a.id])
        assert.deepStrictEqual(yield* listIds(workspaceId, 2, 3), [c.id])
        assert.deepStrictEqual(yield* listIds(workspaceId, 2, 4), [])
      })
    )

    it.effect("lists one project alone", () =>
      Effect.gen(function* () {
        const conversations = yield* ConversationRepo
        const workspaceId = yield* makeWorkspace
        const [one, two] = [yield* makeProject(workspaceId), yield* makeProject(workspaceId)]
        const mine = yield* makeConversation(workspaceId, { projectId: one.id })
        yield* makeConversation(workspaceId, { projectId: two.id })
        yield* makeConversation(workspaceId)
        const listed = yield* conversations.list({ workspaceId, projectId: one.id, limit: 9, offset: 0 })
        assert.deepStrictEqual(
          listed.map(({ id }) => id),
          [mine.id]
        )
        assert.strictEqual((yield* listIds(workspaceId)).length, 3)
      })
    )

    it.effect("lists what the specification shows, with the last message alone", () =>
      Effect.gen(function* () {
        const conversations = yield* ConversationRepo
        const workspaceId = yield* makeWorkspace
        const agent = yield* makeAgent(workspaceId)
        const {
          chatId: _,
          createdAt: __,
          isHidden: ___,
          ownerId: ____,
          ...shown
        } = yield* makeConversation(workspaceId, {
          title: unicode,
          agentId: agent.id
        })
        const list = conversations.list({ workspaceId, limit: 9, offset: 0 })
        const before = { ...shown, agent: { id: agent.id, name: agent.name }, messages: [] }
        assert.deepStrictEqual(yield* list, [before])
        yield* conversations.addMessage(shown.id, yield* newMessage({ createdAt: at(9) }))
        const last = yield* newMessage({ role: "ASSISTANT", content: unicode, createdAt: at(5) })
        yield* conversations.addMessage(shown.id, last)
        assert.deepStrictEqual(yield* list, [{ ...before, messages: [last], updatedAt: at(5) }])
      })
    )

    it.effect.each([
      ["a".repeat(200), "a".repeat(200)],
      ["a".repeat(201), "a".repeat(200)],
      ["😀".repeat(200), "😀".repeat(200)],
      [`a${"😀".repeat(300)}`, `a${"😀".repeat(199)}`]
    ] as const)("cuts the preview to 200 code points, and not the message (%#)", ([content, preview]) =>
      Effect.gen(function* () {
        const conversations = yield* ConversationRepo
        const workspaceId = yield* makeWorkspace
        const { id } = yield* makeConversation(workspaceId)
        yield* conversations.addMessage(id, yield* newMessage({ content }))
        const [listed] = yield* conversations.list({ workspaceId, limit: 9, offset: 0 })
        assert.strictEqual(listed?.messages[0]?.content, preview)
        assert.strictEqual((yield* messagesOf(conversations, id))[0]?.content, content)
      })
    )

    it.effect("removes a conversation with its messages, once", () =>
      Effect.gen(function* () {
        const conversations = yield* ConversationRepo
        const workspaceId = yield* makeWorkspace
        const ownerId = (yield* makeUser).id
        const gone = yield* makeConversation(workspaceId, { ownerId })
        const kept = yield* makeConversation(workspaceId, { ownerId })
        yield* conversations.addMessage(gone.id, yield* newMessage())
        yield* conversations.addMessage(kept.id, yield* newMessage())
        assert.deepStrictEqual(yield* conversations.remove(gone.id), Option.some({ turnId: null }))
        assert.deepStrictEqual(yield* conversations.remove(gone.id), Option.none())
        assert.deepStrictEqual(yield* conversations.find(gone.id), Option.none())
        assert.deepStrictEqual(yield* messagesOf(conversations, gone.id), [])
        assert.strictEqual((yield* messagesOf(conversations, kept.id)).length, 1)
        assert.deepStrictEqual(yield* listIds(workspaceId), [kept.id])
      })
    )
  })
