import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { JournalStep } from "../../../src/Schemas/Journal.ts"
import type { RunEvent } from "../../../src/Schemas/RunEvent.ts"
import { AgentLoop } from "../../../src/Services/Engine/AgentLoop.ts"
import { allowed } from "../../../src/Services/Engine/CallTool.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { IdempotencyKey, ToolError } from "../../../src/Services/ToolSource.ts"
import { echo, type Journal, makeInput, runWith, tool } from "../../support/Loop.ts"
import { calls, layerScripted, makeGate, ScriptedModel, says } from "../../support/Service.ts"

describe("AgentLoop, tool calls", () => {
  it.effect("runs the calls of one answer together and tells their results in the order of the calls", () =>
    Effect.gen(function* () {
      const [slow, quick] = [yield* makeGate, yield* makeGate]
      const tools = [
        tool("slow", () => Effect.andThen(quick.open, Effect.as(slow.wait, "slow"))),
        tool("quick", () => Effect.andThen(quick.wait, Effect.as(slow.open, "quick")))
      ]
      const { events, exit, requests } = yield* runWith({
        answers: [calls("slow", "quick"), says("ok")],
        tools
      })
      assert.strictEqual(exit._tag, "Success")
      assert.deepStrictEqual(
        events.flatMap((event) =>
          event.event === "tool_call"
            ? [`call ${event.data.name}`]
            : event.event === "tool_result"
              ? [`result ${event.data.result}`]
              : []
        ),
        ["call slow", "call quick", "result slow", "result quick"]
      )
      const last = requests[1]?.messages.at(-1)
      assert.deepStrictEqual(last?.role === "tool" ? last.results.map(({ result }) => result) : [], [
        "slow",
        "quick"
      ])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("runs no more calls at the same time than allowed", () =>
    Effect.gen(function* () {
      let [running, most] = [0, 0]
      const counting = tool("count", () =>
        Effect.sync(() => {
          running++
          most = Math.max(most, running)
        }).pipe(Effect.andThen(Effect.yieldNow), Effect.andThen(Effect.sync(() => --running)))
      )
      yield* runWith({
        answers: [calls(...Array.from({ length: 9 }, () => "count")), says("ok")],
        tools: [counting]
      })
      assert.strictEqual(most, 3)
    }).pipe(Effect.provide(layerScripted({ toolConcurrency: 3 })))
  )

  it.effect("does again only the call that was not finished", () =>
    Effect.gen(function* () {
      const called: Array<string> = []
      const named = (name: string) => tool(name, () => Effect.sync(() => `${name} ${called.push(name)}`))
      const result = (name: string) => ({
        id: `call_${name}`,
        name,
        result: name,
        isError: false,
        durationMs: 0
      })
      const journal: Journal = {
        finished: new Map<number, JournalStep>([
          [
            0,
            {
              type: "model",
              text: "",
              toolCalls: ["a", "b", "c"].map((name) => ({ id: `call_${name}`, name, arguments: {} })),
              usage: { inputTokens: 0, outputTokens: 0 }
            }
          ],
          [1, { type: "tool", result: result("a") }],
          [3, { type: "tool", result: result("c") }]
        ]),
        record: () => Effect.succeed(true)
      }
      const { exit } = yield* runWith({
        answers: [says("ok")],
        tools: [named("a"), named("b"), named("c")],
        journal
      })
      assert.strictEqual(exit._tag, "Success")
      assert.deepStrictEqual(called, ["b"])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("asks about the calls that need it, does the others, and ends until somebody has decided", () =>
    Effect.gen(function* () {
      const called: Array<string> = []
      const named = (name: string) => tool(name, () => Effect.sync(() => `${name} ${called.push(name)}`))
      const recorded: Array<number> = []
      const { exit } = yield* runWith({
        answers: [calls("free", "asked", "refused")],
        tools: [named("free"), named("asked"), named("refused")],
        journal: { finished: new Map(), record: (index) => Effect.sync(() => recorded.push(index) > 0) },
        permit: ({ name }) =>
          Effect.succeed(
            name === "free"
              ? allowed
              : name === "asked"
                ? { type: "undecided" }
                : { type: "rejected", reason: "no" }
          )
      })
      assert.strictEqual(exit._tag, "Failure")
      if (exit._tag !== "Failure" || exit.failure._tag !== "ApprovalNeeded") return assert.fail("not asked")
      assert.deepStrictEqual(
        exit.failure.calls.map(({ name }) => name),
        ["asked"]
      )
      assert.deepStrictEqual(called, ["free"])
      assert.deepStrictEqual(recorded.toSorted(), [0, 1, 3])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("makes a call known by the run and its own id", () =>
    Effect.gen(function* () {
      let key: string | null = null
      const knowing = tool("t", () => Effect.map(IdempotencyKey, (given) => (key = given)))
      yield* runWith({ answers: [calls("t"), says("ok")], tools: [knowing] })
      assert.strictEqual(key, "run_1/call_t_0")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("begins none of the calls of an answer that has too many", () =>
    Effect.gen(function* () {
      let called = 0
      const { events, exit } = yield* runWith({
        answers: [calls("echo", "echo", "echo", "echo")],
        tools: [tool("echo", () => Effect.sync(() => ++called))]
      })
      assert.strictEqual(exit._tag, "Failure")
      if (exit._tag === "Failure") assert.deepInclude(exit.failure, { limit: "steps" })
      assert.strictEqual(called, 0)
      assert.isFalse(events.some(({ event }) => event === "tool_call"))
    }).pipe(Effect.provide(layerScripted({ maxSteps: 4 })))
  )

  it.effect("keeps a result of a size that can be kept", () =>
    Effect.gen(function* () {
      const { events } = yield* runWith({
        answers: [calls("big"), says("ok")],
        tools: [tool("big", () => Effect.succeed({ text: "y".repeat(1_000_000) }))]
      })
      const result = events.find((event) => event.event === "tool_result")
      const kept = result?.event === "tool_result" ? result.data.result : null
      assert.isString(kept)
      assert.isBelow(String(kept).length, 262_300)
      assert.match(String(kept), /\(cut: 1000011 characters in all\)$/)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("gives a tool's error to the model and goes on", () =>
    Effect.gen(function* () {
      const failing = tool("failing", () => Effect.fail(new ToolError({ error: "no such city" })))
      const { events, exit } = yield* runWith({
        answers: [calls("failing"), says("sorry")],
        tools: [failing]
      })
      assert.strictEqual(exit._tag, "Success")
      const result = events.find((event) => event.event === "tool_result")
      assert.deepInclude(result?.event === "tool_result" ? result.data : {}, {
        isError: true,
        result: "no such city"
      })
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("gives every call that was told of a result, also when another took too long", () =>
    Effect.gen(function* () {
      const loop = yield* AgentLoop
      const model = yield* ScriptedModel
      model.script = () => Stream.fromIterable(calls("echo", "slow", "echo"))
      const told: Array<RunEvent> = []
      const running = yield* Effect.forkChild(
        Effect.flip(loop.answer(makeInput({ tools: [echo, tool("slow", () => Effect.never)], events: told })))
      )
      yield* TestClock.adjust(Settings.defaults.toolTimeoutMillis)
      assert.deepInclude(yield* Fiber.join(running), { limit: "tool_time" })
      assert.deepStrictEqual(
        told.flatMap((event) => (event.event === "tool_result" ? [[event.data.id, event.data.isError]] : [])),
        [
          ["call_echo_0", false],
          ["call_slow_1", true],
          ["call_echo_2", false]
        ]
      )
    }).pipe(Effect.provide(layerScripted()))
  )
})
