import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { ChatEvent } from "../../../src/Schemas/ChatEvent.ts"
import { InferenceError } from "../../../src/Schemas/Inference.ts"
import { Chat } from "../../../src/Services/Chat.ts"
import { ConversationRepo } from "../../../src/Services/ConversationRepo.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { chatEvent, names } from "../../support/ChatEvents.ts"
import { away, ended, Faults, layerFaulty, start, stored, withinOneMilli } from "../../support/Engine.ts"
import { messagesOf } from "../../support/Listed.ts"
import { calls, layerScripted, makeGate, makeTenant, ScriptedModel, says } from "../../support/Service.ts"

describe("The end of a run", () => {
  it.effect.each(["fails", "breaks", "exceeds"] as const)("keeps what it cost when its model %s", (how) =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const { user, workspaceId } = yield* makeTenant()
      model.script = () => {
        if (model.requests.length < 3) return Stream.fromIterable(calls("current_time"))
        if (how === "fails") return Stream.fail(new InferenceError({ reason: "bad_request", error: "no" }))
        if (how === "breaks") return Stream.die(new Error("broken"))
        return Stream.fromIterable(says("x".repeat(200)))
      }
      yield* start
      const { id } = yield* (yield* Runs).create(user, { workspaceId, prompt: "work" })
      const run = yield* ended(id)
      assert.deepInclude(run, { status: "FAILED", usage: { inputTokens: 2, outputTokens: 4 } })
    }).pipe(Effect.provide(layerScripted({ maxOutputLength: 100 })))
  )
})

/** A turn whose answer waits at a gate, and what a reader of its conversation sees. */
const subject = Effect.gen(function* () {
  const chat = yield* Chat
  const faults = yield* Faults
  const model = yield* ScriptedModel
  const { user, workspaceId } = yield* makeTenant()
  const gate = yield* makeGate
  model.script = () => Stream.unwrap(Effect.as(gate.wait, Stream.fromIterable(says("the reply"))))
  const events = yield* chat.send(user, { workspaceId, content: "hi" })
  const seen: Array<ChatEvent> = []
  yield* Effect.forkChild(
    Stream.runForEach(events, (event) => Effect.sync(() => void seen.push(chatEvent(event)))),
    { startImmediately: true }
  )
  const [conversation] = yield* chat.list(user, { workspaceId, limit: 1, offset: 0 })
  const { id } = conversation ?? assert.fail()
  yield* withinOneMilli
  const repo = yield* ConversationRepo
  const contents = Effect.map(messagesOf(repo, id), (messages) => messages.map(({ content }) => content))
  const again = chat.send(user, { workspaceId, content: "more", conversationId: id })
  const first = seen[0]
  const turnId = first?.event === "conversation" ? first.data.turnId : assert.fail()
  return { again, contents, faults, gate, seen, turnId }
})

describe("The end of a turn", () => {
  it.effect.each([
    ["addReply", "before"],
    ["addReply", "after"],
    ["finish", "before"],
    ["finish", "after"]
  ] as const)("is stored with its reply or not at all: %s fails, %s it is done", ([name, when]) =>
    Effect.gen(function* () {
      const { again, contents, faults, gate, seen } = yield* subject
      let failures = 0
      faults[when] = (call) =>
        call === name
          ? Effect.andThen(
              Effect.sync(() => failures++),
              away
            )
          : Effect.void
      yield* gate.open
      yield* TestClock.adjust("2 seconds")
      assert.isAbove(failures, 1)
      assert.deepStrictEqual(yield* contents, ["hi"])
      assert.strictEqual((yield* Effect.flip(again))._tag, "ConversationBusy")
      assert.notInclude(names(seen), "done")
      faults[when] = () => Effect.void
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* contents, ["hi", "the reply"])
      assert.strictEqual(seen.at(-1)?.event, "done")
      yield* again
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect("brings no reply when it was cancelled just before", () =>
    Effect.gen(function* () {
      const { contents, faults, gate, seen, turnId } = yield* subject
      const repo = yield* RunRepo
      faults.before = (call) =>
        call === "finish" ? Effect.asVoid(repo.cancel(turnId, new Date(0))) : Effect.void
      yield* gate.open
      yield* TestClock.adjust("2 seconds")
      assert.deepInclude(yield* stored(turnId), { status: "CANCELLED", output: null })
      assert.deepStrictEqual(yield* contents, ["hi"])
      assert.strictEqual(seen.at(-1)?.event, "error")
    }).pipe(Effect.provide(layerFaulty()))
  )
})
