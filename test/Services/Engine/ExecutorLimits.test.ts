import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { RunId, WorkspaceId } from "../../../src/Schemas/Ids.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { away, ended, Faults, layerFaulty, promptOf, start, stored } from "../../support/Engine.ts"
import { calls, makeGate, makeTenant, ScriptedModel, says } from "../../support/Service.ts"

/** Work that begins and then waits at a gate; `active` are those that wait, `most` how many ever did. */
const makeWork = Effect.gen(function* () {
  const model = yield* ScriptedModel
  const gate = yield* makeGate
  const active = new Map<string, number>()
  const most = new Map<string, number>()
  const add = (who: string, by: number) =>
    Effect.sync(() => {
      const count = (active.get(who) ?? 0) + by
      active.set(who, count)
      most.set(who, Math.max(most.get(who) ?? 0, count))
    })
  model.script = (request) => {
    const who = promptOf(request)
    return Stream.fromEffect(add(who, 1).pipe(Effect.andThen(gate.wait), Effect.ensuring(add(who, -1)))).pipe(
      Stream.flatMap(() => Stream.fromIterable(says("ok")))
    )
  }
  return { active, gate, most }
})

const create = Effect.fnUntraced(function* (
  { user, workspaceId }: Effect.Success<ReturnType<typeof makeTenant>>,
  prompt: string,
  count: number
) {
  const runs = yield* Runs
  const made = yield* Effect.replicateEffect(runs.create(user, { workspaceId, prompt }), count)
  return made.map(({ id }) => id)
})

const statuses = Effect.fnUntraced(function* (ids: ReadonlyArray<RunId>) {
  const found = yield* Effect.forEach(ids, stored)
  return found.map(({ status }) => status)
})

const running = Effect.fnUntraced(function* (workspaceId: WorkspaceId) {
  const { total } = yield* (yield* RunRepo).list({ workspaceId, status: "RUNNING", limit: 1, offset: 0 })
  return total
})

describe("Executor, limits", () => {
  it.effect("executes at most 8 of a workspace at once, and gives another its share, of what waits", () =>
    Effect.gen(function* () {
      const [many, few] = [yield* makeTenant(), yield* makeTenant()]
      const { active, gate, most } = yield* makeWork
      const ofMany = yield* create(many, "many", 20)
      const ofFew = yield* create(few, "few", 3)
      yield* start
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual([active.get("many"), active.get("few")], [8, 3])
      assert.strictEqual(yield* running(many.workspaceId), 8)
      assert.deepStrictEqual(
        (yield* statuses(ofMany)).map((status) => status === "RUNNING"),
        ofMany.map((_, place) => place < 8)
      )
      yield* gate.open
      for (const id of [...ofMany, ...ofFew]) assert.strictEqual((yield* ended(id)).status, "COMPLETED")
      assert.deepStrictEqual([most.get("many"), most.get("few")], [8, 3])
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect("executes at most 8 of a workspace at once of those it is given while it has room", () =>
    Effect.gen(function* () {
      const [many, few] = [yield* makeTenant(), yield* makeTenant()]
      const { active, gate, most } = yield* makeWork
      yield* start
      const ids = yield* create(many, "many", 12)
      ids.push(...(yield* create(few, "few", 2)))
      // Without any time going by: none of these waits for a poll.
      yield* TestClock.adjust(0)
      assert.deepStrictEqual([active.get("many"), active.get("few")], [8, 2])
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual([active.get("many"), active.get("few")], [8, 2])
      yield* gate.open
      for (const id of ids) assert.strictEqual((yield* ended(id)).status, "COMPLETED")
      assert.strictEqual(most.get("many"), 8)
    }).pipe(Effect.provide(layerFaulty()))
  )

  it.effect("shares few places between workspaces, whoever came first", () =>
    Effect.gen(function* () {
      const [many, few] = [yield* makeTenant(), yield* makeTenant()]
      const { active, gate } = yield* makeWork
      const ids = yield* create(many, "many", 20)
      ids.push(...(yield* create(few, "few", 2)))
      yield* start
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([active.get("many"), active.get("few")], [2, 2])
      yield* gate.open
      for (const id of ids) assert.strictEqual((yield* ended(id)).status, "COMPLETED")
    }).pipe(Effect.provide(layerFaulty({ runConcurrency: 4 })))
  )

  it.effect("fills a place as it falls free, without waiting for a poll", () =>
    Effect.gen(function* () {
      const tenant = yield* makeTenant()
      const ids = yield* create(tenant, "work", 30)
      yield* start
      const open = () =>
        Effect.map(statuses(ids), (all) => all.filter((status) => status !== "COMPLETED").length)
      // Turns of the fibers, but no time.
      for (let turn = 0; turn < 1_000 && (yield* open()) > 0; turn++) yield* TestClock.adjust(0)
      assert.strictEqual(yield* open(), 0)
      assert.strictEqual(yield* Clock.currentTimeMillis, 0)
    }).pipe(Effect.provide(layerFaulty({ runConcurrency: 2 })))
  )

  it.effect("loses no place by a run that could not be stored", () =>
    Effect.gen(function* () {
      const tenant = yield* makeTenant()
      const faults = yield* Faults
      const { active, gate } = yield* makeWork
      yield* start
      for (const when of ["before", "after"] as const) {
        faults[when] = (call) => (call === "insert" ? away : Effect.void)
        for (let n = 0; n < 3; n++) {
          assert.strictEqual((yield* Effect.flip(create(tenant, "lost", 1)))._tag, "Unavailable")
        }
        faults[when] = () => Effect.void
      }
      const other = yield* makeTenant()
      const ids = yield* create(other, "work", 2)
      // Turns of the fibers, but no time.
      for (let turn = 0; turn < 100 && active.get("work") !== 2; turn++) yield* TestClock.adjust(0)
      assert.strictEqual(active.get("work"), 2)
      assert.strictEqual(yield* Clock.currentTimeMillis, 0)
      yield* gate.open
      for (const id of ids) assert.strictEqual((yield* ended(id)).status, "COMPLETED")
    }).pipe(Effect.provide(layerFaulty({ runConcurrency: 2 })))
  )

  it.effect("stops the model call of a run that is cancelled at once, and writes nothing more", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const model = yield* ScriptedModel
      const faults = yield* Faults
      const { user, workspaceId } = yield* makeTenant()
      const [asked, stopped] = [yield* makeGate, yield* makeGate]
      const written: Array<string> = []
      yield* start
      model.script = () =>
        model.requests.length === 1
          ? Stream.fromIterable(calls("current_time"))
          : Stream.fromEffect(
              asked.open.pipe(
                Effect.andThen(Effect.never),
                Effect.onInterrupt(() => stopped.open)
              )
            )
      const { id } = yield* runs.create(user, { workspaceId, prompt: "work" })
      yield* asked.wait
      faults.before = (call) => Effect.sync(() => void written.push(call))
      const cancelled = yield* runs.cancel(user, id)
      // Time stands still: it does not take a poll.
      yield* stopped.wait
      assert.deepInclude(cancelled, { status: "CANCELLED", output: null, attempts: 1 })
      assert.deepStrictEqual(
        cancelled.steps.map(({ type }) => type),
        ["model", "tool"]
      )
      assert.deepStrictEqual(cancelled.usage, { inputTokens: 1, outputTokens: 2 })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* runs.get(user, id), cancelled)
      for (const call of ["record", "finish"]) assert.notInclude(written, call)
      assert.strictEqual(model.requests.length, 2)
      // The place is free again.
      model.script = () => Stream.fromIterable(says("next"))
      const next = yield* runs.create(user, { workspaceId, prompt: "work" })
      assert.deepInclude(yield* ended(next.id), { status: "COMPLETED", output: "next" })
    }).pipe(Effect.provide(layerFaulty({ runConcurrency: 1 })))
  )

  it.effect("stops a cancelled run by its next heartbeat when the signal is lost, or by its next write", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const repo = yield* RunRepo
      const model = yield* ScriptedModel
      const { user, workspaceId } = yield* makeTenant()
      const [stopped, gate] = [yield* makeGate, yield* makeGate]
      yield* start
      model.script = (request) =>
        promptOf(request) === "slow"
          ? Stream.fromEffect(Effect.onInterrupt(Effect.never, () => stopped.open))
          : Stream.unwrap(Effect.as(gate.wait, Stream.fromIterable(says("late"))))
      const slow = yield* runs.create(user, { workspaceId, prompt: "slow" })
      const quick = yield* runs.create(user, { workspaceId, prompt: "quick" })
      yield* TestClock.adjust(0)
      for (const { id } of [slow, quick]) assert.isTrue(yield* repo.cancel(id, new Date(0)))
      yield* gate.open
      yield* TestClock.adjust(0)
      assert.deepInclude(yield* stored(quick.id), {
        status: "CANCELLED",
        output: null,
        finishedAt: new Date(0)
      })
      yield* TestClock.adjust("5 seconds")
      yield* stopped.wait
      assert.deepInclude(yield* stored(slow.id), { status: "CANCELLED", finishedAt: new Date(0) })
    }).pipe(Effect.provide(layerFaulty()))
  )
})
