import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { RunId } from "../../../src/Schemas/Ids.ts"
import { noUsage } from "../../../src/Schemas/Usage.ts"
import { Chat } from "../../../src/Services/Chat.ts"
import * as Engine from "../../../src/Services/Engine.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { Workspaces } from "../../../src/Services/Workspaces.ts"
import { betweenPolls, start, startNode, stored, withinOneMilli } from "../../support/Engine.ts"
import { makeRun } from "../../support/Fixtures.ts"
import { layerScripted, makeGate, makeTenant, ScriptedModel, says } from "../../support/Service.ts"

const { leaseMillis } = Settings.defaults

/** A tenant, and a model whose calls wait until they are interrupted; `stopped` counts those. */
const subject = Effect.gen(function* () {
  const model = yield* ScriptedModel
  const tenant = yield* makeTenant()
  const { user, workspaceId } = tenant
  let stopped = 0
  model.script = () => Stream.fromEffect(Effect.onInterrupt(Effect.never, () => Effect.sync(() => stopped++)))
  const runs = yield* Runs
  const create = Effect.map(runs.create(user, { workspaceId, prompt: "work" }), ({ id }) => id)
  return { create, model, runs, stopped: () => stopped, ...tenant }
})

const statusOf = (id: RunId) => Effect.map(stored(id), ({ status }) => status)

describe("Runs begin within a millisecond", () => {
  it.effect("of the moment that another node's run of their workspace is cancelled", () =>
    Effect.gen(function* () {
      const { create, runs, user } = yield* subject
      const held = yield* create
      yield* (yield* RunRepo).claim({ worker: "other", limit: 1, leaseMillis: 60_000, perWorkspace: 1 })
      yield* start
      const waiting = yield* create
      yield* betweenPolls
      assert.strictEqual(yield* statusOf(waiting), "PENDING")
      yield* runs.cancel(user, held)
      yield* withinOneMilli
      assert.strictEqual(yield* statusOf(waiting), "RUNNING")
    }).pipe(Effect.provide(layerScripted({ runsPerWorkspace: 1 })))
  )

  it.effect("of the commit that makes them, and not before it; of what is rolled back never", () =>
    Effect.gen(function* () {
      const { create, model } = yield* subject
      const { atomically } = yield* Transaction
      yield* start
      yield* betweenPolls
      const made = yield* atomically(
        Effect.gen(function* () {
          const id = yield* create
          yield* withinOneMilli
          assert.strictEqual(yield* statusOf(id), "PENDING")
          return id
        })
      )
      yield* withinOneMilli
      assert.strictEqual(yield* statusOf(made), "RUNNING")
      yield* Effect.flip(atomically(Effect.andThen(create, Effect.fail("no"))))
      yield* withinOneMilli
      assert.strictEqual(model.requests.length, 1)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("on another node, where this one has no place for them", () =>
    Effect.gen(function* () {
      const { create, model } = yield* subject
      yield* start
      yield* create
      yield* startNode("two")
      yield* betweenPolls
      assert.strictEqual(model.requests.length, 1)
      const other = yield* create
      yield* withinOneMilli
      assert.strictEqual(yield* statusOf(other), "RUNNING")
      assert.strictEqual(model.requests.length, 2)
    }).pipe(Effect.provide(layerScripted({ runConcurrency: 1 })))
  )

  it.effect("with the one that waits before them in their workspace", () =>
    Effect.gen(function* () {
      const { create, workspaceId } = yield* subject
      yield* start
      yield* betweenPolls
      // Nobody was told of it.
      const { id } = yield* makeRun(workspaceId, { createdAt: new Date(0) })
      const next = yield* create
      yield* withinOneMilli
      assert.deepStrictEqual([yield* statusOf(id), yield* statusOf(next)], ["RUNNING", "RUNNING"])
    }).pipe(Effect.provide(layerScripted({ runConcurrency: 2 })))
  )

  it.effect("on another node, when theirs stops", () =>
    Effect.gen(function* () {
      const { create, model } = yield* subject
      const first = yield* start
      const id = yield* create
      yield* startNode("two")
      yield* betweenPolls
      yield* first.stop
      yield* withinOneMilli
      assert.deepInclude(yield* stored(id), { status: "RUNNING", attempts: 2 })
      assert.strictEqual(model.requests.length, 2)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("of a place in their workspace falling free, where places are free all along", () =>
    Effect.gen(function* () {
      const { create, model } = yield* subject
      const gate = yield* makeGate
      model.script = () => Stream.unwrap(Effect.as(gate.wait, Stream.fromIterable(says("ok"))))
      yield* start
      const first = yield* create
      model.script = () => Stream.never
      const second = yield* create
      yield* betweenPolls
      assert.strictEqual(yield* statusOf(second), "PENDING")
      yield* gate.open
      yield* withinOneMilli
      assert.deepStrictEqual([yield* statusOf(first), yield* statusOf(second)], ["COMPLETED", "RUNNING"])
    }).pipe(Effect.provide(layerScripted({ runsPerWorkspace: 1, runConcurrency: 4 })))
  )

  it.effect("of the start of an executor, as many as it has places", () =>
    Effect.gen(function* () {
      const { create, model } = yield* subject
      yield* Effect.replicateEffect(create, 7)
      yield* start
      yield* withinOneMilli
      assert.strictEqual(model.requests.length, 5)
    }).pipe(Effect.provide(layerScripted({ runConcurrency: 5 })))
  )

  it.effect("of the start of an executor, as many as it has places of those whose lease has ended", () =>
    Effect.gen(function* () {
      const { create, model } = yield* subject
      yield* Effect.replicateEffect(create, 7)
      yield* (yield* RunRepo).claim({ worker: "gone", limit: 7, leaseMillis: 0, perWorkspace: 8 })
      yield* start
      yield* withinOneMilli
      assert.strictEqual(model.requests.length, 5)
    }).pipe(Effect.provide(layerScripted({ runConcurrency: 5 })))
  )
})

describe("Runs that a look has passed by", () => {
  it.effect("begin with the next one, which comes soon, and not with the poll", () =>
    Effect.gen(function* () {
      const { create } = yield* subject
      const repo = yield* RunRepo
      const held = yield* create
      yield* repo.claim({ worker: "other", limit: 1, leaseMillis: 60_000, perWorkspace: 1 })
      yield* start
      yield* betweenPolls
      const waiting = yield* create
      yield* withinOneMilli
      assert.strictEqual(yield* statusOf(waiting), "PENDING")
      // Nobody is told of it.
      const outcome = { status: "COMPLETED", output: "", usage: noUsage } as const
      const execution = { id: held, worker: "other", epoch: 1 }
      assert.isTrue(yield* repo.finish(execution, outcome, { at: new Date(0), firstTokenAt: null }))
      yield* TestClock.adjust(50)
      assert.strictEqual(yield* statusOf(waiting), "RUNNING")
    }).pipe(Effect.provide(layerScripted({ runsPerWorkspace: 1 })))
  )
})

describe("Turns begin within a millisecond", () => {
  const send = Effect.fnUntraced(function* ({
    user,
    workspaceId
  }: Effect.Success<ReturnType<typeof makeTenant>>) {
    yield* (yield* Chat).send(user, { workspaceId, content: "hi" })
  })

  it.effect("on another node, where this one has no place for them", () =>
    Effect.gen(function* () {
      const given = yield* subject
      yield* send(given)
      yield* startNode("two", Engine.layerTurns)
      yield* betweenPolls
      assert.strictEqual(given.model.requests.length, 1)
      yield* send(given)
      yield* withinOneMilli
      assert.strictEqual(given.model.requests.length, 2)
    }).pipe(Effect.provide(layerScripted({ turnConcurrency: 1 })))
  )

  it.effect("of a place falling free", () =>
    Effect.gen(function* () {
      const given = yield* subject
      const gate = yield* makeGate
      given.model.script = () => Stream.unwrap(Effect.as(gate.wait, Stream.fromIterable(says("ok"))))
      yield* send(given)
      yield* send(given)
      yield* betweenPolls
      assert.strictEqual(given.model.requests.length, 1)
      yield* gate.open
      yield* withinOneMilli
      assert.strictEqual(given.model.requests.length, 2)
    }).pipe(Effect.provide(layerScripted({ turnConcurrency: 1 })))
  )

  it.effect("of the end of another of their workspace, which has no place for them", () =>
    Effect.gen(function* () {
      const given = yield* subject
      const other = yield* makeTenant()
      const gate = yield* makeGate
      given.model.script = () => Stream.unwrap(Effect.as(gate.wait, Stream.fromIterable(says("ok"))))
      yield* Effect.replicateEffect(send(given), 3)
      yield* betweenPolls
      assert.strictEqual(given.model.requests.length, 2)
      yield* send(other)
      yield* withinOneMilli
      assert.strictEqual(given.model.requests.length, 3, "they hold another workspace up")
      yield* gate.open
      yield* withinOneMilli
      assert.strictEqual(given.model.requests.length, 4)
    }).pipe(Effect.provide(layerScripted({ turnsPerWorkspace: 2 })))
  )

  it.effect("of the end of another of their owner, in whichever workspace", () =>
    Effect.gen(function* () {
      const given = yield* subject
      const { id: workspaceId } = yield* (yield* Workspaces).create(given.user, { name: "Second" })
      const gate = yield* makeGate
      given.model.script = () => Stream.unwrap(Effect.as(gate.wait, Stream.fromIterable(says("ok"))))
      yield* send(given)
      yield* send({ ...given, workspaceId })
      yield* betweenPolls
      assert.strictEqual(given.model.requests.length, 1)
      yield* gate.open
      yield* withinOneMilli
      assert.strictEqual(given.model.requests.length, 2)
    }).pipe(Effect.provide(layerScripted({ runsPerOwner: 1 })))
  )
})

describe("Work stops within a millisecond", () => {
  it.effect("of the moment that its run is cancelled, and another has its place", () =>
    Effect.gen(function* () {
      const { create, model, runs, stopped, user } = yield* subject
      yield* start
      const id = yield* create
      const next = yield* create
      yield* betweenPolls
      yield* runs.cancel(user, id)
      yield* withinOneMilli
      assert.strictEqual(stopped(), 1)
      assert.strictEqual(yield* statusOf(next), "RUNNING")
      assert.strictEqual(model.requests.length, 2)
    }).pipe(Effect.provide(layerScripted({ runConcurrency: 1 })))
  )

  it.effect("of the moment that its conversation is deleted", () =>
    Effect.gen(function* () {
      const { model, stopped, user, workspaceId } = yield* subject
      const chat = yield* Chat
      yield* chat.send(user, { workspaceId, content: "hi" })
      yield* betweenPolls
      assert.strictEqual(model.requests.length, 1)
      const [conversation] = yield* chat.list(user, { workspaceId, limit: 1, offset: 0 })
      yield* chat.remove(user, conversation?.id ?? assert.fail())
      yield* withinOneMilli
      assert.strictEqual(stopped(), 1)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("and goes on for as long as its lease is renewed", () =>
    Effect.gen(function* () {
      const { create, model, stopped } = yield* subject
      yield* start
      const id = yield* create
      for (let n = 0; n < 30; n++) yield* TestClock.adjust(leaseMillis / 10)
      assert.deepStrictEqual([stopped(), model.requests.length], [0, 1])
      assert.deepInclude(yield* stored(id), { status: "RUNNING", attempts: 1, epoch: 1 })
    }).pipe(Effect.provide(layerScripted()))
  )
})
