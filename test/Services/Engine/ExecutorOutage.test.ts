import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { JournalStep } from "../../../src/Schemas/Journal.ts"
import { RunJournal } from "../../../src/Services/RunJournal.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { completed } from "../../contract/RunSubject.ts"
import { away, ended, Faults, layerFaulty, promptOf, start, stored } from "../../support/Engine.ts"
import { calls, makeGate, makeTenant, ScriptedModel, says } from "../../support/Service.ts"

const { leaseMillis } = Settings.defaults

/** A model that calls a tool first, and then answers. */
const callsOnce = Effect.map(ScriptedModel, (model) => {
  model.script = ({ messages }) =>
    Stream.fromIterable(messages.length === 1 ? calls("current_time") : says("done"))
  return model
})

/** A model whose call waits until it is interrupted, and when that was. */
const waits = Effect.map(ScriptedModel, (model) => {
  const stopped: Array<number> = []
  const stop = Effect.map(Clock.currentTimeMillis, (at) => void stopped.push(at))
  model.script = () => Stream.fromEffect(Effect.onInterrupt(Effect.never, () => stop))
  return { model, stopped }
})

describe("Executor, outages", () => {
  it.effect.each([
    ["record", "before"],
    ["record", "after"],
    ["finish", "before"],
    ["finish", "after"]
  ] as const)(
    "completes a run when %s fails for 5 seconds, %s it is done, and asks nothing twice",
    ([name, when]) =>
      Effect.gen(function* () {
        const runs = yield* Runs
        const model = yield* callsOnce
        const faults = yield* Faults
        const { user, workspaceId } = yield* makeTenant()
        let failures = 0
        faults[when] = (call) =>
          Effect.gen(function* () {
            if (call !== name || (yield* Clock.currentTimeMillis) >= 5_000) return
            failures++
            yield* away
          })
        yield* start
        const { id } = yield* runs.create(user, { workspaceId, prompt: "work" })
        assert.deepInclude(yield* ended(id, 100), {
          status: "COMPLETED",
          output: "done",
          attempts: 1,
          epoch: 1
        })
        yield* TestClock.adjust("6 seconds")
        assert.isAbove(failures, 1)
        assert.strictEqual(model.requests.length, 2)
        const { steps, usage } = yield* runs.get(user, id)
        assert.deepStrictEqual(
          steps.map(({ index, type }) => [index, type]),
          [
            [0, "model"],
            [1, "tool"],
            [2, "model"]
          ]
        )
        assert.deepStrictEqual(usage, { inputTokens: 2, outputTokens: 4 })
      }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect("asks a model for no finished step again when the store is away before the next", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const model = yield* callsOnce
      const faults = yield* Faults
      const { user, workspaceId } = yield* makeTenant()
      // What a choice of model needs (its key) comes from the store as well.
      faults.before = (call) =>
        Effect.flatMap(Clock.currentTimeMillis, (at) =>
          call === "model" && model.requests.length === 1 && at < 3_000 ? away : Effect.void
        )
      yield* start
      const { id } = yield* runs.create(user, { workspaceId, prompt: "work" })
      assert.deepInclude(yield* ended(id, 100), { status: "COMPLETED", output: "done" })
      assert.deepStrictEqual(
        model.requests.map(({ messages }) => messages.length),
        [1, 3],
        "the first step was done again"
      )
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect("goes on after the finished steps of a worker that is gone, without asking for them again", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const [repo, journal] = [yield* RunRepo, yield* RunJournal]
      const model = yield* callsOnce
      const faults = yield* Faults
      const { user, workspaceId } = yield* makeTenant()
      const { id } = yield* runs.create(user, { workspaceId, prompt: "work" })
      yield* repo.claim({ worker: "gone", leaseMillis, limit: 1, perWorkspace: 8 })
      const gone = { id, worker: "gone", epoch: 1 }
      const call = { id: "call", name: "current_time", arguments: {} }
      const asked: JournalStep = {
        type: "model",
        text: "Let me see.",
        toolCalls: [call],
        usage: { inputTokens: 10, outputTokens: 20 }
      }
      const result = { id: "call", name: "current_time", result: "late", isError: false, durationMs: 1 }
      yield* journal.record(gone, 0, asked)
      yield* journal.record(gone, 1, { type: "tool", result })
      faults.before = (name) =>
        Effect.flatMap(Clock.currentTimeMillis, (at) =>
          name === "progress" && at < leaseMillis + 3_000 ? away : Effect.void
        )
      yield* start
      const run = yield* ended(id, 100)
      assert.deepInclude(run, { status: "COMPLETED", output: "done", attempts: 2, epoch: 2 })
      assert.deepStrictEqual(run.usage, { inputTokens: 11, outputTokens: 22 })
      assert.strictEqual(model.requests.length, 1)
      assert.deepStrictEqual(model.requests[0]?.messages.slice(1), [
        { role: "assistant", content: "Let me see.", toolCalls: [call] },
        { role: "tool", results: [result] }
      ])
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect("stops a run that another execution took over, without an end or an error", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const repo = yield* RunRepo
      const model = yield* ScriptedModel
      const { user, workspaceId } = yield* makeTenant()
      const gate = yield* makeGate
      model.script = () => Stream.unwrap(Effect.as(gate.wait, Stream.fromIterable(calls("current_time"))))
      const executor = yield* start
      const { id } = yield* runs.create(user, { workspaceId, prompt: "work" })
      yield* TestClock.adjust(0)
      assert.strictEqual(model.requests.length, 1)
      yield* repo.renew(Settings.defaults.worker, [{ id, epoch: 1 }], 0)
      const taken = yield* repo.takeOver({ worker: "heir", leaseMillis, limit: 1, maxCrashes: 3 })
      assert.strictEqual(taken.length, 1)
      yield* gate.open
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([yield* stored(id)], taken)
      assert.deepStrictEqual((yield* runs.get(user, id)).steps, [])
      assert.strictEqual(model.requests.length, 1, "it went on after it had lost the run")
      yield* executor.stop
      assert.deepStrictEqual([yield* stored(id)], taken)
      const times = { at: new Date(1), firstTokenAt: null }
      assert.isTrue(yield* repo.finish({ id, worker: "heir", epoch: 2 }, completed, times))
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect("makes a run that keeps losing its worker FAILED, and does not execute it", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const repo = yield* RunRepo
      const { model } = yield* waits
      const { user, workspaceId } = yield* makeTenant()
      const { id } = yield* runs.create(user, { workspaceId, prompt: "work" })
      yield* repo.claim({ worker: "gone", leaseMillis: 0, limit: 1, perWorkspace: 8 })
      for (let n = 0; n < 3; n++) {
        yield* repo.takeOver({ worker: `gone ${n}`, leaseMillis: 0, limit: 1, maxCrashes: 4 })
      }
      yield* start
      yield* TestClock.adjust("2 seconds")
      const run = yield* stored(id)
      assert.deepInclude(run, { status: "FAILED", attempts: 4 })
      assert.include(run.error ?? "", "4 times")
      assert.strictEqual(model.requests.length, 0)
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect.each([
    [15_000, "fails"],
    [15_000, "hangs"],
    [5_000, "fails"],
    [1_000, "fails"],
    [1_000, "hangs"]
  ] as const)("stops before a lease of %d ms ends when the store %s", ([lease, how]) =>
    Effect.gen(function* () {
      const back = yield* makeGate
      const runs = yield* Runs
      const faults = yield* Faults
      const { stopped } = yield* waits
      const { user, workspaceId } = yield* makeTenant()
      yield* start
      // Not at the moment of a poll.
      yield* TestClock.adjust(130)
      const since = yield* Clock.currentTimeMillis
      yield* runs.create(user, { workspaceId, prompt: "work" })
      yield* TestClock.adjust(0)
      faults.before = () => (how === "fails" ? away : back.wait)
      yield* TestClock.adjust(lease * 0.6)
      assert.deepStrictEqual(stopped, [], "it gave up long before")
      yield* TestClock.adjust(lease)
      assert.strictEqual(stopped.length, 1)
      assert.isBelow((stopped[0] ?? Number.NaN) - since, lease)
      // It goes on when the store is back.
      faults.before = () => Effect.void
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(stopped.length, 1)
      yield* back.open
    }).pipe(Effect.provide(layerFaulty({ leaseMillis: lease })))
  )

  it.effect("stops before the lease ends when the answer to its start came late", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const faults = yield* Faults
      const { stopped } = yield* waits
      const { user, workspaceId } = yield* makeTenant()
      yield* start
      const since = yield* Clock.currentTimeMillis
      // The lease begins as the store writes; a request may wait for its answer for 10 seconds.
      faults.after = (call) => (call === "insert" ? Effect.sleep("9 seconds") : Effect.void)
      faults.before = (call) => (call === "renew" ? away : Effect.void)
      const creating = yield* Effect.forkChild(runs.create(user, { workspaceId, prompt: "work" }))
      yield* TestClock.adjust("9 seconds")
      assert.isDefined(creating.pollUnsafe())
      yield* TestClock.adjust("30 seconds")
      assert.isAtLeast(stopped.length, 1)
      assert.isBelow((stopped[0] ?? Number.NaN) - since, leaseMillis)
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect("lets a run that is slow to stop hold up no other", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const model = yield* ScriptedModel
      const { user, workspaceId } = yield* makeTenant()
      const [never, gate] = [yield* makeGate, yield* makeGate]
      model.script = (request) =>
        promptOf(request) === "stubborn"
          ? Stream.fromEffect(Effect.uninterruptible(never.wait)).pipe(Stream.flatMap(() => Stream.empty))
          : Stream.unwrap(Effect.as(gate.wait, Stream.fromIterable(says("ok"))))
      yield* start
      const stubborn = yield* runs.create(user, { workspaceId, prompt: "stubborn" })
      const other = yield* runs.create(user, { workspaceId, prompt: "other" })
      yield* TestClock.adjust(0)
      yield* runs.cancel(user, stubborn.id)
      yield* TestClock.adjust("1 minute")
      assert.deepInclude(yield* stored(other.id), { status: "RUNNING", attempts: 1, error: null })
      yield* gate.open
      assert.deepInclude(yield* ended(other.id), { status: "COMPLETED", attempts: 1 })
      yield* never.open
    }).pipe(Effect.provide(layerFaulty()))
  )
})
