import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { InferenceEvent } from "../../../src/Schemas/Inference.ts"
import type { JournalStep } from "../../../src/Schemas/Journal.ts"
import { AgentLoop } from "../../../src/Services/Engine/AgentLoop.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { echo, type Journal, makeInput, runWith, tool } from "../../support/Loop.ts"
import { calls, finish, layerScripted, ScriptedModel, says, scriptedModel } from "../../support/Service.ts"

describe("AgentLoop", () => {
  it.effect("calls tools in order, feeds their results back and joins all text", () =>
    Effect.gen(function* () {
      const { events, exit, requests } = yield* runWith({
        answers: [[{ type: "text", delta: "a" }, ...calls("echo", "missing")], says("b", "c")]
      })
      assert.isTrue(exit._tag === "Success")
      if (exit._tag !== "Success") return
      const { answer, text } = exit.success
      assert.deepStrictEqual({ answer, text }, { answer: "bc", text: "abc" })
      assert.deepStrictEqual(
        events.map(({ data, event }) => ("status" in data ? data.status : event)),
        [
          "thinking",
          "responding",
          "tool_call",
          "tool_call",
          "tool_result",
          "tool_result",
          "thinking",
          "responding",
          "responding"
        ]
      )
      const last = requests[1]?.messages.at(-1)
      assert.isTrue(last?.role === "tool")
      if (last?.role !== "tool") return
      assert.deepStrictEqual(
        last.results.map(({ isError, name, result }) => ({ isError, name, result })),
        [
          { isError: false, name: "echo", result: { echoed: {} } },
          { isError: true, name: "missing", result: "There is no tool named missing. There are: echo." }
        ]
      )
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("says with the first answer of an execution which model it was, and with no other", () =>
    Effect.gen(function* () {
      const kept = new Map<number, JournalStep>()
      const journal = (finished: Journal["finished"]): Journal => ({
        finished,
        record: (index, step) => Effect.sync(() => Boolean(kept.set(index, step)))
      })
      const answers = [calls("echo"), calls("echo"), says("done")]
      const named = () =>
        Array.from(kept).flatMap(([index, step]) =>
          step.type === "model" && step.answeredBy !== undefined ? [{ index, ...step.answeredBy }] : []
        )
      yield* runWith({ answers, journal: journal(new Map()) })
      assert.deepStrictEqual(named(), [{ index: 0, ...scriptedModel }])

      const before = new Map(Array.from(kept).slice(0, 2))
      kept.clear()
      yield* runWith({ answers: answers.slice(1), journal: journal(before) })
      assert.deepStrictEqual(named(), [{ index: 2, ...scriptedModel }])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("stops listening to a model that calls tools without an end", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      let sent = 0
      model.script = () =>
        Stream.fromIterable(calls("echo")).pipe(
          Stream.take(1),
          Stream.tap(() => Effect.sync(() => sent++)),
          Stream.forever
        )
      const loop = yield* AgentLoop
      const failure = yield* Effect.flip(loop.answer(makeInput({ tools: [echo] })))
      assert.deepInclude(failure, { limit: "steps" })
      assert.isAtMost(sent, 52)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("counts what calls carry to the output", () =>
    Effect.gen(function* () {
      const big = { id: "c", name: "echo", arguments: { text: "x".repeat(100) } }
      const { exit } = yield* runWith({ answers: [[{ type: "tool_call", call: big }, finish]] })
      assert.strictEqual(exit._tag, "Failure")
      if (exit._tag === "Failure") assert.deepInclude(exit.failure, { limit: "output" })
    }).pipe(Effect.provide(layerScripted({ maxOutputLength: 50 })))
  )

  it.effect("stops after the allowed number of steps", () =>
    Effect.gen(function* () {
      const { exit, requests } = yield* runWith({ answers: Array.from({ length: 9 }, () => calls("echo")) })
      assert.strictEqual(exit._tag, "Failure")
      if (exit._tag === "Failure") assert.deepInclude(exit.failure, { _tag: "LimitExceeded", limit: "steps" })
      assert.strictEqual(requests.length, 2)
    }).pipe(Effect.provide(layerScripted({ maxSteps: 4 })))
  )

  it.effect("does all that the allowed number of steps has room for, and nothing more", () =>
    Effect.gen(function* () {
      const fits = yield* runWith({ answers: [calls("echo"), says("ok")] })
      assert.strictEqual(fits.exit._tag, "Success")
      const full = yield* runWith({ answers: [calls("echo", "echo"), says("too much")] })
      if (full.exit._tag === "Failure") assert.deepInclude(full.exit.failure, { limit: "steps" })
      assert.strictEqual(full.exit._tag, "Failure")
      assert.strictEqual(full.events.filter(({ event }) => event === "tool_result").length, 2)
      assert.strictEqual(full.requests.length, 3)
      const over = yield* runWith({ answers: [calls("echo", "echo", "echo")] })
      assert.deepStrictEqual(
        over.events.map(({ event }) => event),
        ["status"]
      )
    }).pipe(Effect.provide(layerScripted({ maxSteps: 3 })))
  )

  it.effect("fails when the text grows over its bound, also over several answers", () =>
    Effect.gen(function* () {
      const { exit } = yield* runWith({
        answers: [[{ type: "text", delta: "12345" }, ...calls("echo")], says("6789", "0", "1")]
      })
      assert.strictEqual(exit._tag, "Failure")
      if (exit._tag === "Failure") assert.deepInclude(exit.failure, { limit: "output" })
    }).pipe(Effect.provide(layerScripted({ maxOutputLength: 10 })))
  )

  it.effect("says so when an answer has no finish: it was cut off", () =>
    Effect.gen(function* () {
      const { exit } = yield* runWith({ answers: [[{ type: "text", delta: "half" }]] })
      assert.strictEqual(exit._tag, "Success")
      if (exit._tag === "Success") {
        assert.deepInclude(exit.success, { text: "half", truncated: "the answer of the model was cut off" })
      }
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("counts what is thought to the output", () =>
    Effect.gen(function* () {
      const thought: InferenceEvent = { type: "reasoning", part: 1, delta: "x".repeat(100) }
      const { exit } = yield* runWith({ answers: [[thought, finish]] })
      assert.strictEqual(exit._tag, "Failure")
      if (exit._tag === "Failure") assert.deepInclude(exit.failure, { limit: "output" })
    }).pipe(Effect.provide(layerScripted({ maxOutputLength: 50 })))
  )

  it.effect("bounds the time of a model call and of a tool call", () =>
    Effect.gen(function* () {
      const { modelTimeoutMillis, toolTimeoutMillis } = Settings.defaults
      const model = yield* ScriptedModel
      const loop = yield* AgentLoop
      const input = makeInput({ tools: [tool("slow", () => Effect.never)] })
      model.script = () =>
        Stream.concat(Stream.fromIterable([{ type: "text", delta: "…" } as const]), Stream.never)
      const asking = yield* Effect.forkChild(Effect.flip(loop.answer(input)))
      yield* TestClock.adjust(modelTimeoutMillis)
      assert.deepInclude(yield* Fiber.join(asking), { limit: "model_time" })

      model.script = () => Stream.fromIterable(calls("slow"))
      const calling = yield* Effect.forkChild(Effect.flip(loop.answer(input)))
      yield* TestClock.adjust(toolTimeoutMillis)
      assert.deepInclude(yield* Fiber.join(calling), { limit: "tool_time" })
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("takes finished steps from the journal instead of doing them again", () =>
    Effect.gen(function* () {
      let called = 0
      const counting = tool("echo", () => Effect.sync(() => ++called))
      const recorded: Array<readonly [number, JournalStep]> = []
      const journal: Journal = {
        finished: new Map<number, JournalStep>([
          [
            0,
            {
              type: "model",
              text: "",
              toolCalls: [{ id: "c1", name: "echo", arguments: {} }],
              usage: { inputTokens: 5, outputTokens: 5 }
            }
          ],
          [
            1,
            {
              type: "tool",
              result: { id: "c1", name: "echo", result: "kept", isError: false, durationMs: 1 }
            }
          ]
        ]),
        record: (index, step) => Effect.sync(() => recorded.push([index, step]) > 0)
      }
      const { exit, requests } = yield* runWith({ answers: [says("done")], tools: [counting], journal })
      assert.strictEqual(exit._tag, "Success")
      assert.strictEqual(called, 0)
      assert.strictEqual(requests.length, 1)
      assert.deepStrictEqual(
        recorded.map(([index, step]) => [index, step.type]),
        [[2, "model"]]
      )
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("stops when the journal says that the work is another's", () =>
    Effect.gen(function* () {
      const journal: Journal = { finished: new Map(), record: () => Effect.succeed(false) }
      const { exit } = yield* runWith({ answers: [[finish]], journal })
      assert.strictEqual(exit._tag, "Failure")
      if (exit._tag === "Failure") assert.deepInclude(exit.failure, { _tag: "OwnershipLost" })
    }).pipe(Effect.provide(layerScripted()))
  )
})
