import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { ProjectId } from "../../src/Schemas/Ids.ts"
import { Agents } from "../../src/Services/Agents.ts"
import { Chat } from "../../src/Services/Chat.ts"
import { collect, conversationOf, names, textOf } from "../support/ChatEvents.ts"
import { makeProject } from "../support/Fixtures.ts"
import { readChat } from "../support/Listed.ts"
import { layerOffline, layerScripted, makeTenant, ScriptedModel } from "../support/Service.ts"

describe("Chat, by whom and with whom", () => {
  it.effect("lets an agent answer, follows a switch of agent, and refuses an inactive one", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const chat = yield* Chat
      const { requests } = yield* ScriptedModel
      const { user, workspaceId } = yield* makeTenant()
      const a = yield* agents.create(user, { workspaceId, name: "A", systemPrompt: "be A" })
      const b = yield* agents.create(user, { workspaceId, name: "B", systemPrompt: "be B" })
      const events = yield* collect(chat.send(user, { workspaceId, content: "hi", agentId: a.id }))
      const conversationId = conversationOf(events)
      yield* collect(chat.send(user, { workspaceId, content: "again", conversationId }))
      yield* collect(chat.send(user, { workspaceId, content: "you", conversationId, agentId: b.id }))
      assert.deepStrictEqual(
        requests.map(({ system }) => system),
        ["be A", "be A", "be B"]
      )
      assert.deepStrictEqual((yield* readChat(chat, user, conversationId)).agent, {
        id: b.id,
        name: "B"
      })
      yield* agents.update(user, b.id, { isActive: false })
      const refused = yield* Effect.flip(chat.send(user, { workspaceId, content: "more", conversationId }))
      assert.strictEqual(refused._tag, "AgentInactive")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("shows a conversation to members of its workspace only, and lets only its owner delete it", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const owner = yield* makeTenant()
      const stranger = yield* makeTenant()
      const events = yield* collect(chat.send(owner.user, { workspaceId: owner.workspaceId, content: "hi" }))
      const id = conversationOf(events)
      assert.strictEqual((yield* Effect.flip(readChat(chat, stranger.user, id)))._tag, "NotFound")
      assert.strictEqual((yield* Effect.flip(chat.remove(stranger.user, id)))._tag, "NotFound")
      const foreign = { workspaceId: stranger.workspaceId, content: "hi", conversationId: id }
      assert.deepInclude(yield* Effect.flip(chat.send(stranger.user, foreign)), {
        _tag: "InvalidInput",
        error: "conversationId: does not exist in this workspace"
      })
      yield* chat.remove(owner.user, id)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("goes on in the project of a conversation, and refuses another", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const { user, workspaceId } = yield* makeTenant()
      const [one, two] = [yield* makeProject(workspaceId), yield* makeProject(workspaceId)]
      const inOne = yield* collect(chat.send(user, { workspaceId, content: "hi", projectId: one.id }))
      const inNone = yield* collect(chat.send(user, { workspaceId, content: "hi" }))
      const again = (events: typeof inOne, projectId?: ProjectId) =>
        chat.send(user, {
          workspaceId,
          content: "again",
          conversationId: conversationOf(events),
          ...(projectId !== undefined && { projectId })
        })
      for (const refused of [again(inOne, two.id), again(inNone, one.id)]) {
        assert.deepInclude(yield* Effect.flip(refused), {
          _tag: "InvalidInput",
          error: "projectId: is not the project of this conversation"
        })
      }
      for (const taken of [again(inOne, one.id), again(inOne), again(inNone)]) {
        assert.strictEqual((yield* collect(taken)).at(-1)?.event, "done")
      }
      const { messages, projectId } = yield* readChat(chat, user, conversationOf(inOne))
      assert.strictEqual(projectId, one.id)
      assert.deepStrictEqual(
        messages.map(({ content }) => content),
        ["hi", "ok", "again", "ok", "again", "ok"]
      )
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("offline: calls tools line by line, in order, and streams several deltas", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const { user, workspaceId } = yield* makeTenant()
      const content =
        'Please\ncall remember {"key":"city","value":"Bonn"}\ncall recall {"query":"CITY"}\ncall nothing'
      const events = yield* collect(chat.send(user, { workspaceId, content }))
      const results = events.flatMap(({ data, event }) => (event === "tool_result" ? [data] : []))
      assert.deepStrictEqual(
        results.map(({ isError, name }) => [name, isError]),
        [
          ["remember", false],
          ["recall", false],
          ["nothing", true]
        ]
      )
      assert.include(JSON.stringify(results[1]?.result), "Bonn")
      assert.include(textOf(events), "offline provider")
      assert.isAbove(names(events).filter((name) => name === "status").length, 6)
      const paired = events.flatMap(({ data, event }) => (event === "tool_call" ? [data.id] : []))
      assert.deepStrictEqual(
        paired,
        results.map(({ id }) => id)
      )
    }).pipe(Effect.provide(layerOffline()))
  )
})
