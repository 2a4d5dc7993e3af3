import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { InferenceError } from "../../../src/Schemas/Inference.ts"
import { Agents } from "../../../src/Services/Agents.ts"
import * as Engine from "../../../src/Services/Engine.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { ended, start, stored } from "../../support/Engine.ts"
import { calls, layerScripted, makeGate, makeTenant, ScriptedModel, says } from "../../support/Service.ts"

describe("Executor", () => {
  it.effect("makes a task PENDING, executes it and stores the last answer as output", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const agents = yield* Agents
      const model = yield* ScriptedModel
      const { user, workspaceId } = yield* makeTenant()
      const agent = yield* agents.create(user, { workspaceId, name: "A", systemPrompt: "be A" })
      yield* start
      model.script = () =>
        Stream.fromIterable(model.requests.length === 1 ? calls("current_time") : says("do", "ne"))
      const run = yield* runs.create(user, { workspaceId, prompt: "work", agentId: agent.id })
      assert.strictEqual(run.status, "PENDING")
      const after = yield* ended(run.id)
      assert.deepInclude(after, { status: "COMPLETED", output: "done", error: null, attempts: 1, epoch: 1 })
      assert.deepStrictEqual(after.usage, { inputTokens: 2, outputTokens: 4 })
      for (const time of [after.startedAt, after.firstTokenAt, after.finishedAt])
        assert.instanceOf(time, Date)
      assert.strictEqual(model.requests[0]?.system, "be A")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("says when a run first said something while it says more, and after it was cancelled", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const model = yield* ScriptedModel
      const { user, workspaceId } = yield* makeTenant()
      yield* start
      yield* TestClock.adjust(5_000)
      model.script = () => Stream.concat(Stream.succeed({ type: "text" as const, delta: "We" }), Stream.never)
      const { id } = yield* runs.create(user, { workspaceId, prompt: "work" })
      yield* TestClock.adjust(1_000)
      const running = yield* runs.get(user, id)
      assert.deepInclude(running, { status: "RUNNING", firstTokenAt: new Date(5_000) })
      const cancelled = yield* runs.cancel(user, id)
      assert.deepInclude(cancelled, { status: "CANCELLED", firstTokenAt: new Date(5_000) })
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("makes a run FAILED with the reason; a defect says nothing of its cause", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const model = yield* ScriptedModel
      const { user, workspaceId } = yield* makeTenant()
      yield* start
      model.script = () => Stream.fail(new InferenceError({ reason: "authentication", error: "bad key" }))
      const refused = yield* runs.create(user, { workspaceId, prompt: "work" })
      assert.deepInclude(yield* ended(refused.id), { status: "FAILED", error: "bad key", output: null })
      model.script = () => Stream.die(new Error("secret"))
      const broken = yield* runs.create(user, { workspaceId, prompt: "work" })
      assert.deepInclude(yield* ended(broken.id), { status: "FAILED", error: "internal error" })
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("executes at most runConcurrency runs at once, oldest first", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const model = yield* ScriptedModel
      const { user, workspaceId } = yield* makeTenant()
      const gate = yield* makeGate
      let active = 0
      let most = 0
      model.script = () =>
        Stream.fromEffect(
          Effect.sync(() => {
            most = Math.max(most, ++active)
          }).pipe(Effect.andThen(gate.wait), Effect.andThen(Effect.sync(() => void active--)))
        ).pipe(Stream.flatMap(() => Stream.fromIterable(says("ok"))))
      const created = yield* Effect.forEach(Array.from({ length: 7 }), () =>
        runs.create(user, { workspaceId, prompt: "work" })
      )
      yield* start
      yield* TestClock.adjust("1 second")
      assert.strictEqual(active, 3)
      const statuses = yield* Effect.forEach(created, ({ id }) => Effect.map(stored(id), (run) => run.status))
      assert.deepStrictEqual(statuses.slice(0, 4), ["RUNNING", "RUNNING", "RUNNING", "PENDING"])
      yield* gate.open
      for (const { id } of created) assert.strictEqual((yield* ended(id)).status, "COMPLETED")
      assert.strictEqual(most, 3)
    }).pipe(Effect.provide(layerScripted({ runConcurrency: 3 })))
  )

  it.effect("hands runs back when it stops; the next one goes on after the last finished step", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const model = yield* ScriptedModel
      const { user, workspaceId } = yield* makeTenant()
      const first = yield* start
      const reached = yield* makeGate
      model.script = () =>
        model.requests.length === 1
          ? Stream.fromIterable(calls("current_time"))
          : Stream.unwrap(Effect.as(reached.open, Stream.never))
      const run = yield* runs.create(user, { workspaceId, prompt: "work" })
      yield* TestClock.adjust(1)
      yield* reached.wait
      yield* first.stop
      assert.strictEqual((yield* stored(run.id)).status, "PENDING")

      model.script = () => Stream.fromIterable(says("resumed"))
      yield* start
      assert.deepInclude(yield* ended(run.id), { status: "COMPLETED", output: "resumed", attempts: 2 })
      assert.strictEqual(model.requests.length, 3)
      assert.strictEqual(model.requests[2]?.messages.at(-1)?.role, "tool")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("takes up a run whose worker is gone when its lease has ended, and not before", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const repo = yield* RunRepo
      const { user, workspaceId } = yield* makeTenant()
      const { leaseMillis } = Settings.defaults
      const run = yield* runs.create(user, { workspaceId, prompt: "work" })
      yield* repo.claim({ worker: "gone", limit: 1, leaseMillis, perWorkspace: 8 })
      yield* start
      yield* TestClock.adjust(leaseMillis - 1_000)
      assert.strictEqual((yield* stored(run.id)).status, "RUNNING")
      yield* TestClock.adjust(4_000)
      assert.deepInclude(yield* ended(run.id), { status: "COMPLETED", attempts: 2 })
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("keeps the lease of a long run, so that nobody else takes it", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const repo = yield* RunRepo
      const model = yield* ScriptedModel
      const { user, workspaceId } = yield* makeTenant()
      const { leaseMillis } = Settings.defaults
      model.script = () => Stream.never
      yield* start
      yield* runs.create(user, { workspaceId, prompt: "work" })
      for (let i = 0; i < 6; i++) yield* TestClock.adjust(leaseMillis / 2)
      assert.deepStrictEqual(
        yield* repo.takeOver({ worker: "other", limit: 9, leaseMillis, maxCrashes: 3 }),
        []
      )
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("stops working on a run that another worker has taken", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const repo = yield* RunRepo
      const model = yield* ScriptedModel
      const { user, workspaceId } = yield* makeTenant()
      const { leaseMillis, worker } = Settings.defaults
      let interrupted = false
      model.script = () =>
        Stream.fromEffect(
          Effect.onInterrupt(Effect.never, () =>
            Effect.sync(() => {
              interrupted = true
            })
          )
        )
      yield* start
      const run = yield* runs.create(user, { workspaceId, prompt: "work" })
      yield* TestClock.adjust(1)
      yield* repo.release(worker, { crashed: false, maxCrashes: 3 })
      yield* repo.claim({ worker: "other", limit: 1, leaseMillis, perWorkspace: 8 })
      yield* TestClock.adjust(leaseMillis / 3)
      assert.isTrue(interrupted)
      assert.strictEqual((yield* stored(run.id)).attempts, 2)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("goes on claiming after a defect of the store", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const repo = yield* RunRepo
      const { user, workspaceId } = yield* makeTenant()
      let broken = true
      const flaky = RunRepo.of({
        ...repo,
        claim: (options) =>
          broken ? Effect.die(new Error("a row that does not decode")) : repo.claim(options)
      })
      const scope = yield* Scope.make()
      // It waits for a claim: nobody executes here yet.
      const run = yield* runs.create(user, { workspaceId, prompt: "work" })
      yield* Layer.buildWithScope(Engine.layerTasks, scope).pipe(Effect.provideService(RunRepo, flaky))
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* stored(run.id)).status, "PENDING")
      broken = false
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* ended(run.id)).status, "COMPLETED")
    }).pipe(Effect.provide(layerScripted()))
  )
})
