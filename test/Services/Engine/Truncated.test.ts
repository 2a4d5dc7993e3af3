import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { InferenceError, type InferenceEvent } from "../../../src/Schemas/Inference.ts"
import type { JournalStep } from "../../../src/Schemas/Journal.ts"
import { Chat } from "../../../src/Services/Chat.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { collect, conversationOf, names, textOf } from "../../support/ChatEvents.ts"
import { ended, start } from "../../support/Engine.ts"
import { readChat } from "../../support/Listed.ts"
import { runWith } from "../../support/Loop.ts"
import { calls, layerScripted, makeTenant, ScriptedModel, says } from "../../support/Service.ts"

const half: ReadonlyArray<InferenceEvent> = [
  { type: "text", delta: "Once " },
  { type: "text", delta: "upon" },
  { type: "reasoning", part: 1, delta: "hm", metadata: { anthropic: { signature: "c2ln" } } },
  { type: "tool_call", call: { id: "c", name: "remember", arguments: { key: "k", value: "v" } } }
]
const whole = { type: "finish" as const, usage: { inputTokens: 1, outputTokens: 2 } }

/** How an answer can end before its time, and what it cost then. */
const cuts = {
  limit: Stream.fromIterable([...half, { ...whole, truncated: "the model stopped" }]),
  silence: Stream.fromIterable(half),
  break: Stream.concat(
    Stream.fromIterable(half),
    Stream.fail(new InferenceError({ reason: "truncated", error: "the answer was cut off" }))
  )
} as const
const costOf = (cut: keyof typeof cuts) =>
  cut === "limit" ? { inputTokens: 2, outputTokens: 4 } : whole.usage
const all = Object.keys(cuts) as ReadonlyArray<keyof typeof cuts>

/** A model that calls a tool first and is cut off then. */
const cutOff = Effect.fnUntraced(function* (cut: keyof typeof cuts) {
  const model = yield* ScriptedModel
  const first: ReadonlyArray<InferenceEvent> = [{ type: "text", delta: "Well. " }, ...calls("current_time")]
  model.script = () => (model.requests.length === 1 ? Stream.fromIterable(first) : cuts[cut])
  return model
})

describe("An answer that is cut off", () => {
  it.effect.each(all)("is the reply of a turn as far as it came, by its %s", (cut) =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const model = yield* cutOff(cut)
      const { user, workspaceId } = yield* makeTenant()
      const events = yield* collect(chat.send(user, { workspaceId, content: "Tell me" }))
      const last = events.at(-1)
      assert.isTrue(last?.event === "error" && last.data.code === "inference_truncated")
      assert.strictEqual(names(events).filter((name) => name === "tool_call").length, 1)
      const conversationId = conversationOf(events)
      const { messages } = yield* readChat(chat, user, conversationId)
      assert.deepStrictEqual(
        messages.map(({ content, role }) => [role, content]),
        [
          ["USER", "Tell me"],
          ["ASSISTANT", "Well. Once upon"]
        ]
      )
      assert.strictEqual(textOf(events), "Well. Once upon")

      model.script = () => Stream.fromIterable(says("a time"))
      yield* collect(chat.send(user, { workspaceId, conversationId, content: "Go on" }))
      const shown = model.requests.at(-1)?.messages ?? []
      assert.deepStrictEqual(
        shown.map(({ role }) => role),
        ["user", "assistant", "tool", "assistant", "user"]
      )
      assert.deepStrictEqual(shown[3], { role: "assistant", content: "Once upon", toolCalls: [] })
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect.each(all)("is the output of a run that FAILED, by its %s", (cut) =>
    Effect.gen(function* () {
      yield* cutOff(cut)
      const runs = yield* Runs
      const { user, workspaceId } = yield* makeTenant()
      yield* start
      const { id } = yield* runs.create(user, { workspaceId, prompt: "work" })
      const run = yield* ended(id)
      assert.deepInclude(run, {
        status: "FAILED",
        errorCode: "inference_truncated",
        output: "Once upon",
        usage: costOf(cut)
      })
      const detail = yield* runs.get(user, id)
      assert.strictEqual(detail.output, "Once upon")
      assert.deepStrictEqual(
        detail.steps.map((step) => (step.type === "model" ? Object.keys(step).sort() : step.type)),
        [
          ["index", "text", "toolCalls", "type", "usage"],
          "tool",
          ["index", "text", "toolCalls", "type", "usage"]
        ]
      )
      assert.notInclude(JSON.stringify(detail), "c2ln")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("is not asked for again by whoever takes it up", () =>
    Effect.gen(function* () {
      const step: JournalStep = {
        type: "model",
        text: "Once",
        toolCalls: [],
        usage: whole.usage,
        truncated: "cut"
      }
      const { exit, requests } = yield* runWith({
        answers: [],
        journal: { finished: new Map([[0, step]]), record: () => Effect.succeed(true) }
      })
      assert.deepStrictEqual(requests, [])
      assert.isTrue(exit._tag === "Success" && exit.success.truncated === "cut")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("leaves no reply where nothing was said", () =>
    Effect.gen(function* () {
      const chat = yield* Chat
      const model = yield* ScriptedModel
      model.script = () => Stream.fromIterable([{ ...whole, truncated: "the model stopped" }])
      const { user, workspaceId } = yield* makeTenant()
      const events = yield* collect(chat.send(user, { workspaceId, content: "Tell me" }))
      assert.strictEqual(events.at(-1)?.event, "error")
      const { messages } = yield* readChat(chat, user, conversationOf(events))
      assert.strictEqual(messages.length, 1)
    }).pipe(Effect.provide(layerScripted()))
  )
})
