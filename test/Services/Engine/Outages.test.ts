import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { TestClock } from "effect/testing"
import * as Outages from "../../../src/Services/Engine/Outages.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { away, Faults, layerFaulty, start, stored } from "../../support/Engine.ts"
import { makeTenant } from "../../support/Service.ts"

const { leaseMillis } = Settings.defaults

describe("When the store was away", () => {
  it.effect("is known by what failed, if that took long enough", () =>
    Effect.gen(function* () {
      const { learn, millisAgo } = Outages.make(5_000)
      const fails = Effect.ignore(learn(away))
      const answers = learn(Effect.void)
      assert.strictEqual(yield* millisAgo, Number.POSITIVE_INFINITY)
      yield* fails
      yield* TestClock.adjust(4_999)
      assert.strictEqual(yield* millisAgo, Number.POSITIVE_INFINITY)
      yield* answers
      yield* TestClock.adjust(60_000)
      yield* fails
      yield* TestClock.adjust(3_000)
      yield* fails
      yield* TestClock.adjust(2_000)
      assert.strictEqual(yield* millisAgo, 0)
      yield* answers
      yield* TestClock.adjust(7_000)
      yield* answers
      assert.strictEqual(yield* millisAgo, 7_000)
    })
  )

  it.effect("begins when that was asked which got no answer", () =>
    Effect.gen(function* () {
      const { learn, millisAgo } = Outages.make(5_000)
      yield* Effect.forkChild(learn(Effect.delay(away, 6_000)), { startImmediately: true })
      yield* TestClock.adjust(6_000)
      assert.strictEqual(yield* millisAgo, 0)
    })
  )

  it.effect.each([
    ["counts nothing of what was lost meanwhile", true, "RUNNING"],
    ["counts what was lost otherwise", false, "FAILED"]
  ] as const)("a node %s", ([, isOutage, status]) =>
    Effect.gen(function* () {
      const faults = yield* Faults
      const runs = yield* Runs
      const repo = yield* RunRepo
      const { user, workspaceId } = yield* makeTenant()
      const { id } = yield* runs.create(user, { workspaceId, prompt: "work" })
      yield* repo.claim({ worker: "gone", leaseMillis, limit: 1, perWorkspace: 8 })
      yield* start
      yield* TestClock.adjust(2_000)
      if (isOutage) faults.before = (call) => (call === "claim" || call === "takeOver" ? away : Effect.void)
      yield* TestClock.adjust(leaseMillis / 2)
      faults.before = (call) => (call === "progress" ? Effect.never : Effect.void)
      yield* TestClock.adjust(leaseMillis)
      assert.strictEqual((yield* stored(id)).status, status)
    }).pipe(Effect.provide(layerFaulty({ maxCrashes: 1 })))
  )
})
