import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { RunId } from "../../../src/Schemas/Ids.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { away, Faults, layerFaulty, start } from "../../support/Engine.ts"
import { makeTenant, ScriptedModel } from "../../support/Service.ts"

const leaseMillis = 15_000

/** A model whose calls wait until they are interrupted, at the times in `stopped`. */
const subject = Effect.gen(function* () {
  const model = yield* ScriptedModel
  const runs = yield* Runs
  const { user, workspaceId } = yield* makeTenant()
  const stopped: Array<number> = []
  const stop = Effect.map(Clock.currentTimeMillis, (at) => void stopped.push(at))
  model.script = () => Stream.fromEffect(Effect.onInterrupt(Effect.never, () => stop))
  const create = runs.create(user, { workspaceId, prompt: "work" })
  return { create, faults: yield* Faults, model, stopped }
})

describe("An execution stops before its lease ends", () => {
  it.effect("when the answer to its claim came late", () =>
    Effect.gen(function* () {
      const { create, faults, model, stopped } = yield* subject
      yield* create
      faults.after = (call) => (call === "claim" ? Effect.sleep("9 seconds") : Effect.void)
      faults.before = (call) => (call === "renew" ? away : Effect.void)
      yield* start
      yield* TestClock.adjust("9 seconds")
      assert.strictEqual(model.requests.length, 1)
      faults.after = () => Effect.void
      yield* TestClock.adjust(leaseMillis - 9_010)
      assert.strictEqual(stopped.length, 1)
    }).pipe(Effect.provide(layerFaulty({ leaseMillis })))
  )

  it.effect("when the answer to a renewal came late, and goes on until then", () =>
    Effect.gen(function* () {
      const { create, faults, stopped } = yield* subject
      // The store renews at 5 s, the answer takes 8 s, and after that it is away.
      let renewals = 0
      faults.before = (call) => (call === "renew" && ++renewals > 1 ? away : Effect.void)
      faults.after = (call) => (call === "renew" ? Effect.sleep("8 seconds") : Effect.void)
      yield* start
      yield* create
      yield* TestClock.adjust("18 seconds")
      assert.deepStrictEqual(stopped, [])
      yield* TestClock.adjust(5_000 + leaseMillis - 18_010)
      assert.strictEqual(stopped.length, 1)
    }).pipe(Effect.provide(layerFaulty({ leaseMillis })))
  )

  it.effect("when its row is held by somebody else all the time, and not before; others go on", () =>
    Effect.gen(function* () {
      const { create, stopped } = yield* subject
      const repo = yield* RunRepo
      let held: RunId | undefined
      let asked = 0
      const busy = RunRepo.of({
        ...repo,
        renew: (worker, executions, millis) => {
          asked++
          return repo.renew(
            worker,
            executions.filter(({ id }) => id !== held),
            millis
          )
        }
      })
      yield* start.pipe(Effect.provideService(RunRepo, busy))
      const [{ id }] = [yield* create, yield* create]
      yield* TestClock.adjust("4 seconds")
      held = id
      yield* TestClock.adjust("6 seconds")
      const tried = asked
      assert.isAbove(tried, 5, "what is not known is asked for again soon")
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(stopped, [])
      // It was renewed before, and is ours until then.
      yield* TestClock.adjust("1 second")
      assert.strictEqual(stopped.length, 1)
      held = undefined
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual(stopped.length, 1)
    }).pipe(Effect.provide(layerFaulty({ leaseMillis })))
  )

  it.effect("not when its row was held for a while", () =>
    Effect.gen(function* () {
      const { create, stopped } = yield* subject
      const repo = yield* RunRepo
      let isHeld = true
      const busy = RunRepo.of({
        ...repo,
        renew: (worker, executions, millis) => repo.renew(worker, isHeld ? [] : executions, millis)
      })
      yield* start.pipe(Effect.provideService(RunRepo, busy))
      yield* create
      yield* TestClock.adjust("12 seconds")
      isHeld = false
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(stopped, [])
    }).pipe(Effect.provide(layerFaulty({ leaseMillis })))
  )
})

describe("A lease that the store was not there to renew", () => {
  it.effect("is asked for again within half a second, and outlives short faults that hit each renewal", () =>
    Effect.gen(function* () {
      const { create, faults, stopped } = yield* subject
      const asked: Array<number> = []
      const since = yield* Clock.currentTimeMillis
      // Away for the last 100 ms of every 5 s, and the first 100 ms of the next.
      const isAway = (at: number) => (at + 100) % 5_000 < 200
      faults.before = (call) =>
        Effect.flatMap(Clock.currentTimeMillis, (at) => {
          if (call === "renew") asked.push(at - since)
          return call === "renew" && isAway(at - since) ? away : Effect.void
        })
      yield* start
      yield* create
      for (let n = 0; n < 600; n++) yield* TestClock.adjust(100)
      assert.deepStrictEqual(stopped, [])
      const [first = 0, again = 0] = asked
      assert.isTrue(isAway(first))
      assert.isAtMost(again - first, 500)
    }).pipe(Effect.provide(layerFaulty({ leaseMillis })))
  )
})
