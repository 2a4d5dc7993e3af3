import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { JournalStep } from "../../../src/Schemas/Journal.ts"
import type { RunEvent } from "../../../src/Schemas/RunEvent.ts"
import { deleted, toolUnavailable } from "../../../src/Schemas/ToolAbsence.ts"
import type { ToolBinding } from "../../../src/Schemas/ToolBinding.ts"
import { AgentLoop } from "../../../src/Services/Engine/AgentLoop.ts"
import { allowed } from "../../../src/Services/Engine/CallTool.ts"
import { away1, binding, called, other, resume, unavailable, written } from "../../support/Bindings.ts"
import { makeInput, tool } from "../../support/Loop.ts"
import { calls, layerScripted, ScriptedModel, says } from "../../support/Service.ts"

describe("AgentLoop, tools of connectors", () => {
  it.effect("keeps with each call what it is bound to, before it is made, and shows nobody", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      model.script = ({ messages }) =>
        Stream.fromIterable(messages.length === 1 ? calls("docs__write", "made_up", "echo") : says("done"))
      const recorded: Array<JournalStep> = []
      const tools = [
        written(() => Effect.sync(() => recorded.length)),
        tool("echo", () => Effect.succeed("echo"))
      ]
      const loop = yield* AgentLoop
      const { transcript } = yield* loop.answer(
        makeInput({
          tools,
          journal: { finished: new Map(), record: (_, step) => Effect.sync(() => recorded.push(step) > 0) }
        })
      )
      const [step] = recorded
      assert.deepStrictEqual(step?.type === "model" ? step.toolCalls.map((call) => call.binding) : [], [
        binding,
        null,
        null
      ])
      const results = recorded.flatMap((step) => (step.type === "tool" ? [step.result.result] : []))
      const refused = "There is no tool named made_up. There are: docs__write, echo."
      assert.deepStrictEqual(new Set(results), new Set([1, refused, "echo"]))
      assert.notInclude(JSON.stringify([transcript, model.requests]), "conn_1")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("goes by the binding, whatever has the name of the call by now", () =>
    Effect.gen(function* () {
      const made: Array<string> = []
      const of = (name: string, binding: ToolBinding) =>
        written(() => Effect.sync(() => `${name} ${made.push(name)}`), binding)
      const tools = [of("second", other)]
      const { running } = yield* resume({
        calls: [called("c1"), called("c2", { binding: null })],
        toolbox: tools,
        access: { builtin: [], find: () => Effect.succeed(of("first", binding)) }
      })
      assert.strictEqual((yield* Fiber.join(running))._tag, "Success")
      assert.deepStrictEqual(made, ["first"])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("goes by the name where a version before this one has kept the call", () =>
    Effect.gen(function* () {
      const made: Array<string> = []
      const { binding: _, ...before } = called("c1")
      const { running } = yield* resume({
        calls: [before],
        toolbox: [written(() => Effect.sync(() => made.push("named")), other)],
        access: {}
      })
      assert.strictEqual((yield* Fiber.join(running))._tag, "Success")
      assert.deepStrictEqual(made, ["named"])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("waits for one tool beside the others, however many wait, and then ends without them", () =>
    Effect.gen(function* () {
      const tools = [tool("echo", () => Effect.succeed("echo"))]
      const { events, model, results, running } = yield* resume({
        calls: [called("c1"), called("c2"), called("c3", { name: "echo", binding: null })],
        toolbox: tools,
        access: { find: () => Effect.fail(unavailable) }
      })
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(
        results().map(({ id }) => id),
        ["c3"]
      )
      yield* TestClock.adjust(99_998)
      assert.isUndefined(running.pollUnsafe())
      yield* TestClock.adjust(1)
      const ended = yield* Fiber.join(running)
      assert.strictEqual(ended._tag === "Failure" && ended.failure, unavailable)
      assert.strictEqual(model.requests.length, 0)
      // Each that was told of has its result, and none of those that were not made is kept.
      assert.deepStrictEqual(
        events.flatMap(({ data, event }) => (event === "tool_result" ? [[data.id, data.isError]] : [])),
        [
          ["c1", true],
          ["c2", true],
          ["c3", false]
        ]
      )
      assert.strictEqual(results().length, 1)
    }).pipe(Effect.provide(layerScripted({ toolWaitMillis: 100_000, toolConcurrency: 1 })))
  )

  it.effect("lets a call under way end before it ends for another whose connector was deleted", () =>
    Effect.gen(function* () {
      const { results, running } = yield* resume({
        calls: [called("c1"), called("c2", { name: "slow", binding: null })],
        toolbox: [tool("slow", () => Effect.as(Effect.sleep(5_000), "paid"))],
        access: { find: () => Effect.fail(toolUnavailable(binding, deleted)) }
      })
      yield* TestClock.adjust(4_999)
      assert.isUndefined(running.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* Fiber.join(running))._tag, "Failure")
      assert.deepStrictEqual(
        results().map(({ result }) => result),
        ["paid"]
      )
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("makes the call when the tool is back, and limits its time by itself", () =>
    Effect.gen(function* () {
      let isBack = false
      const { results, running } = yield* resume({
        calls: [called("c1")],
        access: {
          find: () =>
            Effect.suspend(() =>
              isBack
                ? Effect.succeed(written(() => Effect.as(Effect.sleep(9_000), "ok")))
                : Effect.fail(unavailable)
            )
        }
      })
      yield* TestClock.adjust(60_000)
      assert.isUndefined(running.pollUnsafe())
      isBack = true
      yield* TestClock.adjust(19_000)
      assert.strictEqual((yield* Fiber.join(running))._tag, "Success")
      assert.deepInclude(results()[0], { result: "ok", isError: false, durationMs: 9_000 })
    }).pipe(Effect.provide(layerScripted({ toolTimeoutMillis: 10_000, toolWaitMillis: 100_000 })))
  )

  it.effect("tries a call again that was certainly not sent", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      model.script = ({ messages }) =>
        Stream.fromIterable(messages.length === 1 ? calls("docs__write") : says("done"))
      let tries = 0
      const refusing = written(() => (++tries < 3 ? Effect.fail(unavailable) : Effect.succeed("ok")))
      const loop = yield* AgentLoop
      const running = yield* Effect.forkChild(loop.answer(makeInput({ tools: [refusing] })))
      yield* TestClock.adjust(10_000)
      assert.strictEqual((yield* Fiber.join(running)).answer, "done")
      assert.strictEqual(tries, 3)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect.each([
    ["approved", { type: "allowed", isApproved: true }, "since people were asked"],
    ["needs approval now", allowed, "its tool was changed since"],
    ["is free still", allowed, undefined]
  ] as const)("makes no call of a tool that has changed, if it %s", ([how, permission, said]) =>
    Effect.gen(function* () {
      let made = 0
      const changed = written(() => Effect.sync(() => ++made), { ...binding, definition: "e" })
      const { results, running } = yield* resume({
        calls: [called("c1")],
        access: { find: () => Effect.succeed(changed) },
        permit: (_, tool) =>
          Effect.succeed(
            tool?.definition === "d" || how === "is free still"
              ? permission
              : ({ type: "undecided" } as const)
          )
      })
      assert.strictEqual((yield* Fiber.join(running))._tag, "Success")
      assert.strictEqual(made, said === undefined ? 1 : 0)
      if (said !== undefined) assert.include(String(results()[0]?.result), said)
      assert.strictEqual(results()[0]?.isError, said !== undefined)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect.each([
    [true, "This call was approved, but it was not made: the tool"],
    [false, "This call was not made: the tool"]
  ] as const)("waits for nothing in a turn, whose model is told (approved: %s)", ([isApproved, said]) =>
    Effect.gen(function* () {
      const { results, running } = yield* resume({
        calls: [called("c1")],
        access: { find: () => Effect.fail(unavailable), waits: false },
        permit: () => Effect.succeed({ type: "allowed", isApproved })
      })
      assert.strictEqual((yield* Fiber.join(running))._tag, "Success")
      const [result] = results()
      assert.isTrue(result?.isError)
      assert.isTrue(String(result?.result).startsWith(said), String(result?.result))
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("tells the model whom it misses, and the reader before anything else", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      model.script = ({ messages }) =>
        Stream.fromIterable(messages.length === 1 ? calls("echo") : says("done"))
      const events: Array<RunEvent> = []
      const input = makeInput({ tools: [tool("echo", () => Effect.succeed("echo"))], events })
      const offer = Effect.map(input.access.offer, ({ tools }) => ({ tools, absent: [away1] }))
      yield* (yield* AgentLoop).answer({ ...input, access: { ...input.access, offer } })
      const statuses = events.flatMap(({ data, event }) => (event === "status" ? [data] : []))
      assert.deepStrictEqual(
        statuses.filter(({ status }) => status === "thinking"),
        [
          { status: "thinking", unavailableConnectors: [{ id: away1.id, name: "docs" }] },
          { status: "thinking" }
        ]
      )
      assert.strictEqual(events[0]?.data, statuses[0])
      for (const { system } of model.requests) {
        assert.match(system ?? "", /^be brief\n\nThese connectors can't be reached now.*"docs"/u)
      }
    }).pipe(Effect.provide(layerScripted()))
  )
})
