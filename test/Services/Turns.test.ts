import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { ChatEvent } from "../../src/Schemas/ChatEvent.ts"
import { Chat } from "../../src/Services/Chat.ts"
import { Runs } from "../../src/Services/Runs.ts"
import { Turns } from "../../src/Services/Turns.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import { collect, conversationOf, textOf } from "../support/ChatEvents.ts"
import { at } from "../support/Fixtures.ts"
import { layerScripted, makeTenant, ScriptedModel } from "../support/Service.ts"

const turnOf = ([first]: ReadonlyArray<ChatEvent>) =>
  first?.event === "conversation" ? first.data.turnId : assert.fail()

const refusal = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), ({ _tag }) => _tag)

describe("Turns", () => {
  it.effect("are found with their conversation and reply, by members alone, and tasks are none", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const turns = yield* Turns
      const { user, workspaceId } = yield* makeTenant()
      const stranger = yield* makeTenant()
      const colleague = yield* makeTenant()
      yield* (yield* WorkspaceRepo).addMember(workspaceId, colleague.user.id, "member", at(1))
      const events = yield* collect(chat.send(user, { workspaceId, content: "hi" }))
      const id = turnOf(events)
      for (const caller of [user, colleague.user]) {
        const detail = yield* turns.get(caller, id)
        assert.strictEqual(detail.run.id, id)
        assert.strictEqual(detail.conversation.id, conversationOf(events))
        assert.deepInclude(detail.reply, { role: "ASSISTANT", content: "ok" })
        assert.deepStrictEqual(detail.reply?.parts, [{ role: "assistant", content: "ok", toolCalls: [] }])
      }
      const { id: task } = yield* (yield* Runs).create(user, { workspaceId, prompt: "work" })
      for (const [caller, run] of [
        [stranger.user, id],
        [user, task]
      ] as const) {
        assert.strictEqual(yield* refusal(turns.get(caller, run)), "NotFound")
        assert.strictEqual(yield* refusal(turns.cancel(caller, run)), "NotFound")
        assert.strictEqual(yield* refusal(Effect.scoped(turns.events(caller, run, 0))), "NotFound")
      }
      assert.deepInclude(yield* (yield* Runs).get(user, task), { status: "PENDING" })
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("are found by what their client calls the chat, each client's own, and by its id", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const turns = yield* Turns
      const { user, workspaceId } = yield* makeTenant()
      const other = yield* makeTenant()
      yield* (yield* WorkspaceRepo).addMember(workspaceId, other.user.id, "member", at(1))
      const send = (caller: typeof user, content: string) =>
        collect(chat.send(caller, { workspaceId, content, chatId: "my chat" }))
      const mine = yield* send(user, "mine")
      const theirs = yield* send(other.user, "theirs")
      for (const [caller, events] of [
        [user, mine],
        [other.user, theirs]
      ] as const) {
        const found = yield* turns.chat(caller, workspaceId, "my chat")
        assert.strictEqual(found.conversation.id, conversationOf(events))
        assert.strictEqual(found.turn?.id, turnOf(events))
        const byId = yield* turns.chat(user, workspaceId, conversationOf(events))
        assert.strictEqual(byId.turn?.id, turnOf(events))
      }
      assert.strictEqual(yield* refusal(turns.chat(user, workspaceId, "another")), "NotFound")
      assert.strictEqual(
        yield* refusal(turns.chat(other.user, other.workspaceId, conversationOf(mine))),
        "NotFound"
      )
      const again = yield* collect(
        chat.send(user, { workspaceId, content: "more", conversationId: conversationOf(mine) })
      )
      assert.strictEqual((yield* turns.chat(user, workspaceId, "my chat")).turn?.id, turnOf(again))
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("are told from where a reader was, and cancelled", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const turns = yield* Turns
      const model = yield* ScriptedModel
      const { user, workspaceId } = yield* makeTenant()
      const events = yield* collect(chat.send(user, { workspaceId, content: "hi" }))
      const told = (after: number) =>
        Effect.scoped(
          Effect.flatMap(turns.events(user, turnOf(events), after), (stream) =>
            Option.isNone(stream) ? Effect.succeed([]) : Stream.runCollect(stream.value)
          )
        )
      const all = yield* told(0)
      assert.deepStrictEqual(
        all.map(({ event }) => event.event),
        events.map(({ event }) => event)
      )
      assert.strictEqual(textOf(all.map(({ event }) => event as ChatEvent)), "ok")
      assert.strictEqual((yield* told(1)).length, all.length - 1)
      assert.deepStrictEqual(yield* told(all.at(-1)?.id ?? 0), [])
      assert.strictEqual(yield* refusal(turns.cancel(user, turnOf(events))), "RunFinished")

      model.script = () => Stream.never
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* chat.send(user, { workspaceId, content: "forever", chatId: "long" })
          const { turn } = yield* turns.chat(user, workspaceId, "long")
          if (turn === null) return assert.fail()
          yield* turns.cancel(user, turn.id)
          yield* turns.cancel(user, turn.id)
          const { reply, run } = yield* turns.get(user, turn.id)
          assert.deepStrictEqual([run.status, reply], ["CANCELLED", null])
        })
      )
    }).pipe(Effect.provide(layerScripted()))
  )
})
