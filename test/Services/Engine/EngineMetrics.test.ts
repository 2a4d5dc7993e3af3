import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { Budgets } from "../../../src/Services/Budgets.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { away, ended, Faults, layerFaulty, start } from "../../support/Engine.ts"
import { makeTenant, ScriptedModel } from "../../support/Service.ts"

const { leaseMillis } = Settings.defaults

const layer = () => layerFaulty().pipe(Layer.provideMerge(Layer.succeed(Metric.MetricRegistry, new Map())))

/** What was counted under a name, by the only attribute that it has. */
const counted = (name: string) =>
  Effect.map(Metric.snapshot, (found) =>
    Object.fromEntries(
      found.flatMap(({ attributes, id, state }) =>
        id === name && "count" in state && Number(state.count) > 0
          ? [[Object.values(attributes ?? {}).join(), Number(state.count)]]
          : []
      )
    )
  )

describe("what an engine counts of leases and budgets", () => {
  it.effect("is a run that it takes over from a worker that is gone, and none that is handed back", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const repo = yield* RunRepo
      const { user, workspaceId } = yield* makeTenant()
      const run = yield* runs.create(user, { workspaceId, prompt: "work" })
      yield* repo.claim({ worker: "gone", limit: 1, leaseMillis, perWorkspace: 8 })
      const other = yield* runs.create(user, { workspaceId, prompt: "other work" })
      yield* repo.claim({ worker: "stopped", limit: 1, leaseMillis, perWorkspace: 8 })
      yield* repo.release("stopped", { crashed: false, maxCrashes: 5 })
      yield* start
      yield* TestClock.adjust(leaseMillis + 3_000)
      for (const { id } of [run, other]) assert.strictEqual((yield* ended(id)).status, "COMPLETED")
      assert.deepStrictEqual(yield* counted("runs_taken_over_total"), { task: 1 })
      assert.deepStrictEqual(yield* counted("leases_expired_total"), {})
    }).pipe(Effect.provide(layer()))
  )

  it.effect(
    "is a run that it stops since its lease was not renewed in time, once, however slow that is",
    () =>
      Effect.gen(function* () {
        const runs = yield* Runs
        const faults = yield* Faults
        const model = yield* ScriptedModel
        const { user, workspaceId } = yield* makeTenant()
        model.script = () =>
          Stream.fromEffect(Effect.onInterrupt(Effect.never, () => Effect.sleep(leaseMillis * 4)))
        yield* start
        yield* runs.create(user, { workspaceId, prompt: "work" })
        yield* TestClock.adjust(1)
        faults.before = (call) => (call === "renew" || call === "takeOver" ? away : Effect.void)
        yield* TestClock.adjust(leaseMillis * 3)
        assert.deepStrictEqual(yield* counted("leases_expired_total"), { task: 1 })
      }).pipe(Effect.provide(layer()))
  )

  it.effect("is no run that was cancelled", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const model = yield* ScriptedModel
      const { user, workspaceId } = yield* makeTenant()
      model.script = () => Stream.never
      yield* start
      const run = yield* runs.create(user, { workspaceId, prompt: "work" })
      yield* TestClock.adjust(1)
      yield* runs.cancel(user, run.id)
      yield* TestClock.adjust(leaseMillis * 2)
      assert.deepStrictEqual(yield* counted("leases_expired_total"), {})
      assert.deepStrictEqual(yield* counted("runs_taken_over_total"), {})
    }).pipe(Effect.provide(layer()))
  )

  it.effect("is each call that a budget refuses, by the limit, and where the price is not known", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const budgets = yield* Budgets
      const { user, workspaceId } = yield* makeTenant()
      yield* start
      const refused = Effect.gen(function* () {
        const run = yield* runs.create(user, { workspaceId, prompt: "work", autonomyLevel: "autonomous" })
        assert.deepInclude(yield* ended(run.id), { status: "FAILED", errorCode: "budget_exceeded" })
      })
      yield* budgets.put(user, workspaceId, { runTokens: 0 })
      yield* refused
      yield* budgets.put(user, workspaceId, { monthlyUsd: 5 })
      yield* refused
      yield* refused
      assert.deepStrictEqual(yield* counted("budget_refused_calls_total"), { runTokens: 1, price: 2 })
    }).pipe(Effect.provide(layer()))
  )
})
