import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { Chat } from "../../../src/Services/Chat.ts"
import { Work } from "../../../src/Services/Engine/Work.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { type Tool, ToolSource } from "../../../src/Services/ToolSource.ts"
import { away, Faults, layerFaulty, promptOf, start, stored } from "../../support/Engine.ts"
import { calls, makeGate, makeTenant, ScriptedModel, says } from "../../support/Service.ts"

const slow = (millis: number) =>
  Stream.fromEffect(Effect.sleep(millis)).pipe(Stream.flatMap(() => Stream.fromIterable(says("ok"))))

describe("Executor, room", () => {
  it.effect("gives no place away that a claim is about to fill", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* makeTenant(), yield* makeTenant()]
      const model = yield* ScriptedModel
      const faults = yield* Faults
      const runs = yield* Runs
      let [active, most] = [0, 0]
      model.script = () =>
        Stream.suspend(() => {
          most = Math.max(most, ++active)
          return slow(1000)
        }).pipe(Stream.ensuring(Effect.sync(() => active--)))
      for (let n = 0; n < 2; n++) {
        yield* runs.create(one.user, { workspaceId: one.workspaceId, prompt: "waits" })
      }
      faults.before = (what) => (what === "claim" ? Effect.sleep(3) : Effect.void)
      yield* start
      yield* TestClock.adjust(1)
      for (let n = 0; n < 2; n++) {
        yield* runs.create(two.user, { workspaceId: two.workspaceId, prompt: "new" })
      }
      yield* TestClock.adjust(100)
      assert.strictEqual(most, 2)
    }).pipe(Effect.provide(layerFaulty({ runConcurrency: 2 })))
  )

  it.effect("begins a chat turn at once also while a claim is under way", () =>
    Effect.gen(function* () {
      const { user, workspaceId } = yield* makeTenant()
      const chat = yield* Chat
      const model = yield* ScriptedModel
      const faults = yield* Faults
      model.script = () => Stream.fromIterable(says("at once"))
      let claims = 0
      faults.before = (what) => (what === "claim" && ++claims === 1 ? Effect.sleep(5_000) : Effect.void)
      yield* TestClock.adjust(1_000)
      assert.strictEqual(claims, 1)
      const events = yield* chat.send(user, { workspaceId, content: "hello" })
      const told = yield* Effect.forkChild(Stream.runCollect(events))
      yield* TestClock.adjust(0)
      const asked = model.requests.length
      // The claim can't be interrupted.
      yield* TestClock.adjust(5_000)
      assert.strictEqual(asked, 1)
      assert.strictEqual((yield* Fiber.join(told)).at(-1)?.event.event, "done")
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect("begins a task at once also while a claim is under way", () =>
    Effect.gen(function* () {
      const { user, workspaceId } = yield* makeTenant()
      const runs = yield* Runs
      const model = yield* ScriptedModel
      const faults = yield* Faults
      const held = yield* makeGate
      model.script = () => Stream.never
      faults.before = (what) => (what === "claim" ? held.wait : Effect.void)
      yield* start
      yield* TestClock.adjust(100)
      const { id } = yield* runs.create(user, { workspaceId, prompt: "work" })
      yield* TestClock.adjust(0)
      assert.deepInclude(yield* stored(id), { status: "RUNNING", epoch: 1 })
      assert.strictEqual(model.requests.length, 1)
      yield* held.open
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect("takes over what a dead node left before what waits", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* makeTenant(), yield* makeTenant()]
      const model = yield* ScriptedModel
      const repo = yield* RunRepo
      const runs = yield* Runs
      const order: Array<string> = []
      model.script = (request) => {
        order.push(promptOf(request))
        return slow(1_370)
      }
      const { id } = yield* runs.create(one.user, { workspaceId: one.workspaceId, prompt: "left" })
      yield* repo.claim({ worker: "gone", leaseMillis: 15_000, limit: 1, perWorkspace: 8 })
      for (let n = 0; n < 60; n++) {
        yield* runs.create(two.user, { workspaceId: two.workspaceId, prompt: `waits ${n}` })
      }
      yield* start
      yield* TestClock.adjust("19 seconds")
      assert.include(order, "left")
      assert.notStrictEqual((yield* stored(id)).status, "PENDING")
    }).pipe(Effect.provide(layerFaulty({ runConcurrency: 2 })))
  )

  it.effect("lets the calls beside one whose database is away be kept, and makes none of them again", () =>
    Effect.gen(function* () {
      const { user, workspaceId } = yield* makeTenant()
      const model = yield* ScriptedModel
      const faults = yield* Faults
      const runs = yield* Runs
      const repo = yield* RunRepo
      const backAt = 4_000
      let paid = 0
      const tool = (name: string, call: Tool["call"]): Tool => ({
        definition: { name, description: "", parameters: { type: "object" }, readOnly: true },
        binding: null,
        call
      })
      const tools = [
        tool("pay", () => Effect.sync(() => ++paid)),
        tool("recall", () =>
          Effect.flatMap(Clock.currentTimeMillis, (at) => (at < backAt ? away : Effect.succeed("x")))
        )
      ]
      const source = Layer.succeed(ToolSource, {
        tools: () => Effect.succeed({ tools, absent: [] }),
        check: () => Effect.void,
        ofConnector: () => Effect.succeed([]),
        builtin: () => tools,
        find: () => Effect.die("no tool of a connector")
      })
      model.script = ({ messages }) =>
        Stream.fromIterable(messages.length === 1 ? calls("pay", "recall") : says("done"))
      let records = 0
      faults.before = (what) =>
        Effect.flatMap(Clock.currentTimeMillis, (at) =>
          what === "record" && at < backAt && ++records > 1 ? away : Effect.void
        )
      const { id } = yield* runs.create(user, { workspaceId, prompt: "work", autonomyLevel: "autonomous" })
      const [run] = yield* repo.claim({ worker: "node", leaseMillis: 15_000, limit: 1, perWorkspace: 8 })
      if (run === undefined) return assert.fail("nothing was claimed")
      const work = yield* Effect.provide(Work, Layer.fresh(Work.layer).pipe(Layer.provide(source)))
      yield* Effect.forkChild(work.execute(run))
      for (let n = 0; n < 100; n++) yield* TestClock.adjust(100)
      assert.deepInclude(yield* stored(id), { status: "COMPLETED", epoch: 1 })
      assert.strictEqual(paid, 1)
    }).pipe(Effect.provide(layerFaulty()))
  )
})
