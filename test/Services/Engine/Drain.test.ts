import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { RunId } from "../../../src/Schemas/Ids.ts"
import { Chat } from "../../../src/Services/Chat.ts"
import * as Engine from "../../../src/Services/Engine.ts"
import { RunJournal } from "../../../src/Services/RunJournal.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { type Tool, ToolSource } from "../../../src/Services/ToolSource.ts"
import { away, ended, Faults, layerFaulty, stored } from "../../support/Engine.ts"
import { tool } from "../../support/Loop.ts"
import { calls, makeGate, makeTenant, ScriptedModel, says } from "../../support/Service.ts"

const drainMillis = 10_000

/** A node that executes tasks with these tools. */
const start = Effect.fnUntraced(function* (worker: string, tools: ReadonlyArray<Tool> = []) {
  const node = Engine.layerTasks.pipe(
    Layer.provideMerge(Engine.layer),
    Layer.provide(
      Layer.succeed(ToolSource, {
        tools: () => Effect.succeed({ tools, absent: [] }),
        check: () => Effect.void,
        ofConnector: () => Effect.succeed([]),
        builtin: () => tools,
        find: () => Effect.die("no tool of a connector")
      })
    ),
    Layer.provide(Layer.succeed(Settings, { ...(yield* Settings), worker })),
    Layer.fresh
  )
  const engine = Context.get(yield* Layer.buildWithScope(node, yield* Scope.make()), Engine.Engine)
  return { drain: Effect.forkChild(engine.drain("task", drainMillis), { startImmediately: true }) }
})

const subject = Effect.gen(function* () {
  const { user, workspaceId } = yield* makeTenant()
  const runs = yield* Runs
  const journal = yield* RunJournal
  const create = Effect.map(
    runs.create(user, { workspaceId, prompt: "work", autonomyLevel: "autonomous" }),
    ({ id }) => id
  )
  const stepsOf = (id: RunId) =>
    Effect.map(journal.steps(id), (steps) => Array.from(steps.values(), ({ type }) => type))
  const statusOf = (id: RunId) => Effect.map(stored(id), ({ status }) => status)
  return { create, faults: yield* Faults, model: yield* ScriptedModel, statusOf, stepsOf, user, workspaceId }
})

/** A tool that says when it is called, how often it was, and waits for its gate. */
const gated = Effect.fnUntraced(function* (name: string) {
  const [begun, gate] = [yield* makeGate, yield* makeGate]
  let count = 0
  const call = Effect.suspend(() => {
    count++
    return Effect.andThen(begun.open, Effect.as(gate.wait, "paid"))
  })
  return { tool: tool(name, () => call), begun: begun.wait, open: gate.open, count: () => count }
})

describe("A node that is told to stop, and its tasks", () => {
  it.effect("makes a call once that is under way, and hands the run back when it is kept", () =>
    Effect.gen(function* () {
      const { create, model, statusOf, stepsOf } = yield* subject
      const pay = yield* gated("pay")
      model.script = ({ messages }) =>
        Stream.fromIterable(messages.length === 1 ? calls("pay") : says("done"))
      const id = yield* create
      const one = yield* start("one", [pay.tool])
      yield* pay.begun
      const draining = yield* one.drain
      yield* TestClock.adjust(drainMillis / 2)
      assert.strictEqual(yield* statusOf(id), "RUNNING")
      yield* pay.open
      yield* Fiber.join(draining)
      assert.strictEqual(yield* statusOf(id), "PENDING")
      assert.deepStrictEqual(yield* stepsOf(id), ["model", "tool"])
      assert.strictEqual(model.requests.length, 1, "the next step began")

      yield* start("two", [pay.tool])
      assert.deepInclude(yield* ended(id), { status: "COMPLETED", output: "done", attempts: 2 })
      assert.deepStrictEqual([pay.count(), model.requests.length], [1, 2])
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect("begins no other call of the same answer, and interrupts none that has begun", () =>
    Effect.gen(function* () {
      const { create, model, statusOf, stepsOf } = yield* subject
      const [first, second, third] = [yield* gated("first"), yield* gated("second"), yield* gated("third")]
      const tools = [first.tool, second.tool, third.tool]
      model.script = ({ messages }) =>
        Stream.fromIterable(messages.length === 1 ? calls("first", "second", "third") : says("done"))
      const id = yield* create
      const one = yield* start("one", tools)
      yield* first.begun
      yield* second.begun
      const draining = yield* one.drain
      yield* first.open
      yield* TestClock.adjust(1_000)
      assert.strictEqual(yield* statusOf(id), "RUNNING", "the second is under way")
      yield* second.open
      yield* Fiber.join(draining)
      assert.deepStrictEqual(yield* stepsOf(id), ["model", "tool", "tool"])
      yield* start("two", tools)
      yield* third.open
      assert.strictEqual((yield* ended(id)).status, "COMPLETED")
      assert.deepStrictEqual([first.count(), second.count(), third.count()], [1, 1, 1])
    }).pipe(Effect.provide(layerFaulty({ toolConcurrency: 2 })))
  )

  it.effect("keeps the answer of a model that comes in time, and makes none of its calls", () =>
    Effect.gen(function* () {
      const { create, model, statusOf, stepsOf } = yield* subject
      const pay = yield* gated("pay")
      const gate = yield* makeGate
      model.script = () => Stream.unwrap(Effect.as(gate.wait, Stream.fromIterable(calls("pay"))))
      const id = yield* create
      const one = yield* start("one", [pay.tool])
      yield* TestClock.adjust(10)
      const draining = yield* one.drain
      yield* gate.open
      yield* Fiber.join(draining)
      assert.strictEqual(yield* statusOf(id), "PENDING")
      assert.deepStrictEqual([yield* stepsOf(id), pay.count()], [["model"], 0])
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect("hands back each run as soon as its step is kept, and interrupts what takes too long", () =>
    Effect.gen(function* () {
      const { create, model, statusOf } = yield* subject
      const [quick, slow] = [yield* create, yield* create]
      const gate = yield* makeGate
      model.script = () =>
        model.requests.length === 1
          ? Stream.unwrap(Effect.as(gate.wait, Stream.fromIterable(calls("current_time"))))
          : Stream.never
      const one = yield* start("one")
      yield* TestClock.adjust(10)
      const draining = yield* one.drain
      yield* gate.open
      yield* TestClock.adjust(drainMillis - 1)
      assert.deepStrictEqual([yield* statusOf(quick), yield* statusOf(slow)], ["PENDING", "RUNNING"])
      yield* TestClock.adjust(1)
      yield* Fiber.join(draining)
      assert.strictEqual(yield* statusOf(slow), "PENDING")
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect.each(["progress", "model"])("waits no more for a database that is away: %s", (what) =>
    Effect.gen(function* () {
      const { create, faults, model, statusOf } = yield* subject
      model.script = () => Stream.never
      const id = yield* create
      // What another has begun has steps to look up.
      const before = yield* start("before")
      yield* TestClock.adjust(1)
      yield* before.drain
      yield* TestClock.adjust(drainMillis)
      let looks = 0
      faults.before = (call) => {
        if (call !== what) return Effect.void
        looks++
        return away
      }
      const one = yield* start("one")
      yield* TestClock.adjust(500)
      assert.isAbove(looks, 0)
      yield* Fiber.join(yield* one.drain)
      assert.strictEqual(yield* statusOf(id), "PENDING")
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect("tries no call again whose database is away", () =>
    Effect.gen(function* () {
      const { create, model, statusOf } = yield* subject
      model.script = () => Stream.fromIterable(calls("recall"))
      let tries = 0
      const recall = tool("recall", () =>
        Effect.suspend(() => {
          tries++
          return away
        })
      )
      const id = yield* create
      const one = yield* start("one", [recall])
      yield* TestClock.adjust(5_000)
      const before = tries
      assert.isAbove(before, 0)
      const draining = yield* one.drain
      yield* TestClock.adjust(1_000)
      yield* Fiber.join(draining)
      assert.deepStrictEqual([yield* statusOf(id), tries], ["PENDING", before])
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect("waits for runs that a claim is about to bring, and hands them back", () =>
    Effect.gen(function* () {
      const { create, faults, model, statusOf } = yield* subject
      const id = yield* create
      const [asked, gate] = [yield* makeGate, yield* makeGate]
      // The executor of turns has asked before.
      yield* TestClock.adjust(1)
      faults.after = (call) => (call === "claim" ? Effect.andThen(asked.open, gate.wait) : Effect.void)
      const one = yield* start("one")
      yield* asked.wait
      faults.after = () => Effect.void
      const draining = yield* one.drain
      yield* TestClock.adjust(1_000)
      assert.isUndefined(draining.pollUnsafe(), "the run is on its way")
      assert.strictEqual(yield* statusOf(id), "RUNNING")
      yield* gate.open
      yield* Fiber.join(draining)
      assert.strictEqual(yield* statusOf(id), "PENDING")
      assert.strictEqual(model.requests.length, 0)
    }).pipe(Effect.provide(layerFaulty()))
  )
})

describe("A node that is told to stop, and its chat turns", () => {
  /** Asked at once, the model calls a tool after so long of the drain. */
  const answering = Effect.fnUntraced(function* (millis: number) {
    const { model, user, workspaceId } = yield* subject
    const chat = yield* Chat
    const engine = yield* Engine.Engine
    model.script = ({ messages }) =>
      messages.length === 1
        ? Stream.unwrap(Effect.as(Effect.sleep(millis), Stream.fromIterable(calls("current_time"))))
        : Stream.fromIterable(says("done"))
    const events = yield* chat.send(user, { workspaceId, content: "hello" })
    const told = yield* Effect.forkChild(Stream.runCollect(events), { startImmediately: true })
    yield* TestClock.adjust(0)
    const draining = yield* Effect.forkChild(engine.drain("turn", drainMillis), { startImmediately: true })
    yield* TestClock.adjust(drainMillis)
    yield* Fiber.join(draining)
    const asked = model.requests.length
    told.interruptUnsafe()
    return asked
  })

  it.effect("begins steps in the first half of the time", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* answering(drainMillis / 2 - 1), 2)
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect("begins none in the second, so that they have time to end", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* answering(drainMillis / 2 + 1), 1)
    }).pipe(Effect.provide(layerFaulty()))
  )
})
