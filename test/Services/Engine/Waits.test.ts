import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { RunId, UserId } from "../../../src/Schemas/Ids.ts"
import { Waits } from "../../../src/Services/Engine/Waits.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { type Signal, Signals } from "../../../src/Services/Signals.ts"
import { ended, start } from "../../support/Engine.ts"
import { calls, layerScripted, makeTenant, ScriptedModel } from "../../support/Service.ts"

const hour = 3_600_000

/** Between two looks of who waits. */
const pause = TestClock.adjust(20)

const isUnderWay = (fiber: Fiber.Fiber<unknown>) => assert.isUndefined(fiber.pollUnsafe())
const isOver = (fiber: Fiber.Fiber<unknown>) => assert.isDefined(fiber.pollUnsafe())

/** A run, somebody who waits for it, and the signals that are sent meanwhile. */
const subject = Effect.gen(function* () {
  const runs = yield* Runs
  const signals = yield* Signals
  const waits = yield* Waits
  const { user, workspaceId } = yield* makeTenant()
  const { id } = yield* runs.create(user, { workspaceId, prompt: "work", autonomyLevel: "supervised" })
  const sent: Array<Signal> = []
  yield* Effect.forkChild(
    Stream.runForEach(yield* signals.subscribe, (signal) => Effect.sync(() => void sent.push(signal)))
  )
  yield* pause
  sent.length = 0
  const wait = Effect.fnUntraced(function* (of = id) {
    const fiber = yield* Effect.forkChild(waits.settled(user.id, of, 2 * hour), { startImmediately: true })
    yield* pause
    return fiber
  })
  const idsOf = (type: Signal["type"]) =>
    sent.flatMap((signal) => (signal.type === type && "ids" in signal ? signal.ids : []))
  return { id, idsOf, sent, signals, user, wait, waits }
})

/** Ends a run as somebody does who says so to nobody. */
const endInSilence = Effect.fnUntraced(function* (id: RunId, worker = "silent") {
  const repo = yield* RunRepo
  const [run] = yield* repo.claim({ worker, limit: 1, leaseMillis: 60_000, perWorkspace: 1 })
  assert.strictEqual(run?.id, id)
  const usage = { inputTokens: 0, outputTokens: 0 }
  const at = { at: new Date(0), firstTokenAt: null }
  const execution = { id, worker, epoch: run?.epoch ?? 0 }
  yield* repo.finish(execution, { status: "COMPLETED", output: "o", usage }, at)
})

describe("Who waits for a run", () => {
  it.effect("announces it, and is told by the node that executed it", () =>
    Effect.gen(function* () {
      const { id, idsOf, wait } = yield* subject
      const first = yield* wait()
      assert.deepStrictEqual(idsOf("await"), [id])
      yield* start
      yield* pause
      isOver(first)
      assert.deepStrictEqual(idsOf("settled"), [id])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("is told of a run that ended before the announcement was heard", () =>
    Effect.gen(function* () {
      const { id, idsOf, signals } = yield* subject
      yield* start
      yield* pause
      assert.deepStrictEqual(idsOf("settled"), [])
      yield* signals.publish({ type: "await", ids: [id] })
      yield* pause
      assert.deepStrictEqual(idsOf("settled"), [id])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("is told when it waits for people", () =>
    Effect.gen(function* () {
      const { id, wait } = yield* subject
      const model = yield* ScriptedModel
      model.script = () => Stream.fromIterable(calls("current_time"))
      const waiting = yield* wait()
      yield* start
      assert.strictEqual((yield* ended(id)).status, "WAITING_APPROVAL")
      yield* pause
      isOver(waiting)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("sees what was over when it came", () =>
    Effect.gen(function* () {
      const { id, wait } = yield* subject
      yield* endInSilence(id)
      isOver(yield* wait())
      isOver(yield* wait("run_gone" as RunId))
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("looks again when signals may have been lost, and not before", () =>
    Effect.gen(function* () {
      const { id, idsOf, sent, signals, wait } = yield* subject
      const waiting = yield* wait()
      yield* endInSilence(id)
      yield* TestClock.adjust("1 hour")
      isUnderWay(waiting)
      sent.length = 0
      yield* signals.publish({ type: "lost" })
      yield* pause
      isOver(waiting)
      // Others may not have heard of it either.
      assert.deepStrictEqual(idsOf("await"), [id])
      assert.isTrue(sent.some(({ type }) => type === "whoAwaits"))
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("says it again to who has begun to listen", () =>
    Effect.gen(function* () {
      const { id, idsOf, sent, signals, wait } = yield* subject
      yield* wait()
      sent.length = 0
      yield* signals.publish({ type: "whoAwaits" })
      yield* pause
      assert.deepStrictEqual(idsOf("await"), [id])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("is told of a run that is given up because it lost its worker too often", () =>
    Effect.gen(function* () {
      const { wait } = yield* subject
      const waiting = yield* wait()
      const repo = yield* RunRepo
      const claimed = yield* repo.claim({ worker: "gone", limit: 1, leaseMillis: 100, perWorkspace: 1 })
      assert.strictEqual(claimed.length, 1)
      yield* TestClock.adjust(200)
      isUnderWay(waiting)
      yield* start
      yield* TestClock.adjust("5 seconds")
      isOver(waiting)
    }).pipe(Effect.provide(layerScripted({ maxCrashes: 1 })))
  )

  it.effect("is told when nobody has decided in time", () =>
    Effect.gen(function* () {
      const { id, idsOf, sent } = yield* subject
      const model = yield* ScriptedModel
      model.script = () => Stream.fromIterable(calls("current_time"))
      yield* start
      assert.strictEqual((yield* ended(id)).status, "WAITING_APPROVAL")
      sent.length = 0
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(idsOf("settled"), [id])
    }).pipe(Effect.provide(layerScripted({ approvalMillis: 5_000 })))
  )

  it.effect("is let in up to a bound, and gives its place back when it leaves", () =>
    Effect.gen(function* () {
      const { id, user, wait, waits } = yield* subject
      const waiting = yield* Effect.forEach(Array.from({ length: 2_000 }), () =>
        Effect.forkChild(waits.settled(user.id, id, hour), { startImmediately: true })
      )
      assert.isFalse(yield* waits.settled(user.id, id, hour))
      const other = yield* Effect.forkChild(waits.settled("user_other" as UserId, id, hour), {
        startImmediately: true
      })
      yield* pause
      isUnderWay(other)
      yield* Fiber.interruptAll(waiting.slice(0, 1))
      isUnderWay(yield* wait())
    }).pipe(Effect.provide(layerScripted()))
  )
})
