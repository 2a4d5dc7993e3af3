import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { MessageId, RunId } from "../../../src/Schemas/Ids.ts"
import { ConversationRepo } from "../../../src/Services/ConversationRepo.ts"
import * as Engine from "../../../src/Services/Engine.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import {
  away,
  betweenPolls,
  ended,
  Faults,
  layerFaulty,
  start,
  startNode,
  stored,
  withinOneMilli
} from "../../support/Engine.ts"
import { makeConversation, makeRun, newId, newMessage, newRun } from "../../support/Fixtures.ts"
import { layerScripted, makeGate, makeTenant, ScriptedModel, says } from "../../support/Service.ts"

const { leaseMillis } = Settings.defaults

/** A tenant, a model that never answers, and how runs are made. */
const subject = Effect.gen(function* () {
  const model = yield* ScriptedModel
  model.script = () => Stream.never
  const { user, workspaceId } = yield* makeTenant()
  const runs = yield* Runs
  const create = Effect.map(runs.create(user, { workspaceId, prompt: "work" }), ({ id }) => id)
  const repo = yield* RunRepo
  const conversations = yield* ConversationRepo
  /** A turn that waits, or that somebody executes. */
  const makeTurn = Effect.fnUntraced(function* (begun?: Engine.Start) {
    const id = yield* newId<RunId>("turn")
    const { id: conversationId } = yield* makeConversation(workspaceId)
    yield* conversations.claimTurn(conversationId, id)
    yield* conversations.addMessage(conversationId, yield* newMessage())
    const turn = { conversationId, replyId: yield* newId<MessageId>("message") }
    yield* repo.insert(yield* newRun(workspaceId, { id, turn }), begun)
    return id
  })
  return { create, makeTurn, model, repo, user, workspaceId }
})

describe("An executor that starts", () => {
  it.effect("goes on at once with what a former process of its name held", () =>
    Effect.gen(function* () {
      const { create, model, repo } = yield* subject
      const id = yield* create
      yield* repo.claim({ worker: "two", limit: 1, leaseMillis, perWorkspace: 1 })
      yield* startNode("two")
      yield* withinOneMilli
      assert.deepInclude(yield* stored(id), { status: "RUNNING", attempts: 2, epoch: 2 })
      assert.strictEqual(model.requests.length, 1)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("goes on at once with the turns that a former process of its name held", () =>
    Effect.gen(function* () {
      const { makeTurn, model } = yield* subject
      const id = yield* makeTurn({ worker: "two", leaseMillis, perWorkspace: 1_000 })
      yield* startNode("two", Engine.layerTurns)
      yield* withinOneMilli
      assert.deepInclude(yield* stored(id), { status: "RUNNING", attempts: 2, epoch: 2 })
      assert.strictEqual(model.requests.length, 1)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("does not take for a former process's what the other executor of its own has begun", () =>
    Effect.gen(function* () {
      const { makeTurn } = yield* subject
      const id = yield* makeTurn()
      yield* TestClock.adjust(1_000)
      const begun = { status: "RUNNING", attempts: 1, epoch: 1 } as const
      assert.deepInclude(yield* stored(id), begun)
      yield* start
      yield* TestClock.adjust(1_000)
      assert.deepInclude(yield* stored(id), begun)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("gives up what processes of its name have died with too often", () =>
    Effect.gen(function* () {
      const { create, model, repo } = yield* subject
      const id = yield* create
      yield* repo.claim({ worker: "two", limit: 1, leaseMillis, perWorkspace: 1 })
      yield* startNode("two")
      yield* withinOneMilli
      assert.deepInclude(yield* stored(id), { status: "FAILED", errorCode: "worker_lost" })
      assert.strictEqual(model.requests.length, 0)
    }).pipe(Effect.provide(layerScripted({ maxCrashes: 1 })))
  )

  it.effect("leaves alone what others hold", () =>
    Effect.gen(function* () {
      const { create, model, repo } = yield* subject
      const id = yield* create
      yield* repo.claim({ worker: "other", limit: 1, leaseMillis, perWorkspace: 1 })
      yield* start
      yield* withinOneMilli
      assert.deepInclude(yield* stored(id), { status: "RUNNING", attempts: 1, epoch: 1 })
      assert.strictEqual(model.requests.length, 0)
    }).pipe(Effect.provide(layerScripted()))
  )
})

describe("An executor that is stopping", () => {
  it.effect("begins nothing more, whether it waits or is made here", () =>
    Effect.gen(function* () {
      const { create, model, workspaceId } = yield* subject
      const gate = yield* makeGate
      model.script = () => Stream.unwrap(Effect.as(gate.wait, Stream.fromIterable(says("ok"))))
      yield* start
      const first = yield* create
      yield* betweenPolls
      const engine = yield* Engine.Engine
      const draining = yield* Effect.forkChild(engine.drain("task", 10_000), { startImmediately: true })
      const waiting = yield* makeRun(workspaceId, { createdAt: new Date(0) })
      const made = yield* create
      yield* TestClock.adjust("5 seconds")
      yield* gate.open
      assert.strictEqual((yield* ended(first)).status, "COMPLETED")
      yield* TestClock.adjust("5 seconds")
      assert.isDefined(draining.pollUnsafe())
      for (const id of [waiting.id, made]) {
        assert.deepInclude(yield* stored(id), { status: "PENDING", attempts: 0 })
      }
      assert.strictEqual(model.requests.length, 1)
    }).pipe(Effect.provide(layerScripted()))
  )
})

/** A run that lost its lease and was taken again here, while its first execution does not stop yet. */
const takenAgain = Effect.gen(function* () {
  const given = yield* subject
  const faults = yield* Faults
  const [stubborn, gate] = [yield* makeGate, yield* makeGate]
  const { model } = given
  model.script = () =>
    model.requests.length === 1
      ? Stream.fromEffect(Effect.uninterruptible(stubborn.wait)).pipe(Stream.flatMap(() => Stream.empty))
      : Stream.unwrap(Effect.as(gate.wait, Stream.fromIterable(says("ok"))))
  yield* start
  const id = yield* given.create
  const late = yield* makeGate
  let renewals = 0
  const loseLease = Effect.fnUntraced(function* (how: "fails" | "hangs") {
    const until = leaseMillis + 1_500
    faults.before = (call) => {
      if (call !== "renew") return Effect.void
      if (how === "hangs") return ++renewals === 1 ? late.wait : Effect.void
      return away
    }
    for (let at = 0; at < until; at += 100) yield* TestClock.adjust(100)
    faults.before = () => Effect.void
    assert.strictEqual(model.requests.length, 2)
    assert.deepInclude(yield* stored(id), { status: "RUNNING", attempts: 2, epoch: 2 })
  })
  return { ...given, gate, id, late, loseLease, stubborn }
})

describe("A run that is taken again while its first execution is slow to stop", () => {
  it.effect("is renewed when that has stopped", () =>
    Effect.gen(function* () {
      const { gate, id, loseLease, model, stubborn } = yield* takenAgain
      yield* loseLease("fails")
      yield* stubborn.open
      for (let n = 0; n < 30; n++) yield* TestClock.adjust(leaseMillis / 10)
      assert.deepInclude(yield* stored(id), { status: "RUNNING", attempts: 2, epoch: 2 })
      yield* gate.open
      assert.deepInclude(yield* ended(id), { status: "COMPLETED", attempts: 2, output: "ok" })
      assert.strictEqual(model.requests.length, 2)
    }).pipe(Effect.provide(layerFaulty({ runConcurrency: 2 })))
  )

  it.effect("has its place to itself when that has stopped", () =>
    Effect.gen(function* () {
      const { create, gate, loseLease, model, stubborn } = yield* takenAgain
      yield* loseLease("fails")
      yield* stubborn.open
      yield* withinOneMilli
      const [beside, waiting] = [yield* create, yield* create]
      yield* withinOneMilli
      assert.deepStrictEqual(
        [(yield* stored(beside)).status, (yield* stored(waiting)).status],
        ["RUNNING", "PENDING"]
      )
      assert.strictEqual(model.requests.length, 3)
      yield* gate.open
    }).pipe(Effect.provide(layerFaulty({ runConcurrency: 2 })))
  )

  it.effect("is not stopped by a late answer about that", () =>
    Effect.gen(function* () {
      const { gate, id, late, loseLease, model, stubborn } = yield* takenAgain
      yield* loseLease("hangs")
      yield* late.open
      yield* withinOneMilli
      yield* gate.open
      assert.deepInclude(yield* ended(id), { status: "COMPLETED", attempts: 2, output: "ok" })
      assert.strictEqual(model.requests.length, 2)
      yield* stubborn.open
    }).pipe(Effect.provide(layerFaulty({ runConcurrency: 2 })))
  )
})

describe("An executor at work", () => {
  it.effect("looks for what others left once a second, however often places fall free", () =>
    Effect.gen(function* () {
      const { create, model } = yield* subject
      const faults = yield* Faults
      let looks = 0
      faults.before = (call) => Effect.sync(() => void (call === "takeOver" && looks++))
      model.script = () => Stream.fromIterable(says("ok"))
      yield* start
      yield* betweenPolls
      looks = 0
      const ids = yield* Effect.replicateEffect(create, 20)
      yield* withinOneMilli
      for (const id of ids) assert.strictEqual((yield* stored(id)).status, "COMPLETED")
      assert.isAtMost(looks, 1)
      yield* TestClock.adjust("1 second")
      assert.isAtLeast(looks, 1)
    }).pipe(Effect.provide(layerFaulty({ runConcurrency: 2 })))
  )
})
