import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { TestClock } from "effect/testing"
import { Runs } from "../../src/Services/Runs.ts"
import { start as startExecutor, stored } from "../support/Engine.ts"
import { layerAtRest } from "../support/Service.ts"
import { makeSubject, start } from "./Schedulers.ts"

const minute = 60_000

const subject = Effect.gen(function* () {
  const { user, workspaceId } = yield* makeSubject
  const runs = yield* Runs
  const create = Effect.fnUntraced(function* (millis: number) {
    const runAt = new Date(Date.parse("2026-11-20T08:00:00.123Z") + millis)
    return (yield* runs.create(user, { workspaceId, prompt: "call current_time {}", runAt })).id
  })
  return { create, runs, user, workspaceId }
})

describe("runAt", () => {
  it.effect("begins a run at its time and not before, also one that is due sooner than all others", () =>
    Effect.gen(function* () {
      const { create, runs, user } = yield* subject
      yield* start
      yield* startExecutor
      const late = yield* create(2 * minute)
      yield* TestClock.adjust(1)
      const soon = yield* create(minute)
      assert.deepInclude(yield* runs.get(user, soon), {
        status: "PENDING",
        runAt: new Date("2026-11-20T08:01:00.123Z"),
        startedAt: null
      })
      yield* TestClock.adjust(minute - 2)
      assert.strictEqual((yield* stored(soon)).status, "PENDING")
      yield* TestClock.adjust(1_000)
      const done = yield* runs.get(user, soon)
      assert.deepInclude(done, { status: "COMPLETED", runAt: null, attempts: 1 })
      assert.isAtMost((done.startedAt?.getTime() ?? 0) - Date.parse("2026-11-20T08:01:00.123Z"), 1_000)
      assert.strictEqual((yield* stored(late)).status, "PENDING")
      yield* TestClock.adjust(minute)
      assert.deepInclude(yield* stored(late), { status: "COMPLETED", attempts: 1 })
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("begins once what was due while nobody was up", () =>
    Effect.gen(function* () {
      const { create } = yield* subject
      const ids = yield* Effect.forEach([1, 2, 3], (n) => create(n * 1_000))
      yield* TestClock.adjust(minute)
      yield* startExecutor
      yield* start
      yield* start
      yield* TestClock.adjust(5_000)
      for (const id of ids)
        assert.deepInclude(yield* stored(id), { status: "COMPLETED", attempts: 1, epoch: 1 })
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("begins at once where the time is over", () =>
    Effect.gen(function* () {
      const { create } = yield* subject
      yield* startExecutor
      const id = yield* create(-minute)
      assert.isNull((yield* stored(id)).notBefore)
      yield* TestClock.adjust(100)
      assert.strictEqual((yield* stored(id)).status, "COMPLETED")
    }).pipe(Effect.provide(layerAtRest()))
  )
})
