import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as Fires from "../../src/Layers/Scheduler/Fires.ts"
import * as SchedulerLayer from "../../src/Layers/Scheduler.ts"
import type { UpdateCronJob } from "../../src/Schemas/CronJob.ts"
import { CronFireRepo } from "../../src/Services/CronFireRepo.ts"
import { Scheduler } from "../../src/Services/Scheduler.ts"
import { away } from "../support/Engine.ts"
import { layerAtRest } from "../support/Service.ts"
import { makeSubject, start } from "./Schedulers.ts"

describe("after a change of a job", () => {
  it.effect.each<[UpdateCronJob, string | undefined]>([
    [{ isActive: false }, undefined],
    [{ schedule: "30 8 * * *" }, undefined],
    [{ timezone: "Asia/Kathmandu" }, undefined],
    [{ schedule: "*/3 * * * *" }, "11-20T08:03:00 fired"],
    [{ name: "New" }, "11-20T08:02:00 fired"]
  ])("nothing fires by what it was before: %j", ([patch, newest]) =>
    Effect.gen(function* () {
      const { endRuns, jobs, ledger, make, user } = yield* makeSubject
      yield* start
      const job = yield* make({ schedule: "*/1 8 * * *" })
      yield* TestClock.adjust("1 minute")
      yield* endRuns(job)
      yield* jobs.update(user, job.id, patch)
      yield* TestClock.adjust(newest?.includes("08:03") ? "2 minutes" : "1 minute")
      const before = "11-20T08:01:00 fired"
      assert.deepStrictEqual(yield* ledger(job), newest === undefined ? [before] : [newest, before])
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("one that was off missed nothing", () =>
    Effect.gen(function* () {
      const { jobs, ledger, make, user } = yield* makeSubject
      yield* start
      const job = yield* make({ schedule: "* * * * *" })
      yield* jobs.update(user, job.id, { isActive: false })
      yield* TestClock.adjust("1 hour")
      yield* jobs.update(user, job.id, { isActive: true })
      assert.deepStrictEqual(yield* ledger(job), [])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* ledger(job), ["11-20T09:01:00 fired"])
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("a new prompt is that of the next run", () =>
    Effect.gen(function* () {
      const { jobs, make, runsOf, user } = yield* makeSubject
      yield* start
      const job = yield* make({ schedule: "* * * * *" })
      yield* jobs.update(user, job.id, { prompt: "Something else" })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(
        (yield* runsOf(job)).map(({ prompt }) => prompt),
        ["Something else"]
      )
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("one that is deleted never fires again, and has no ledger", () =>
    Effect.gen(function* () {
      const { jobs, ledger, make, runs, user, workspaceId } = yield* makeSubject
      yield* start
      const job = yield* make({ schedule: "* * * * *" })
      yield* TestClock.adjust("1 minute")
      yield* jobs.remove(user, job.id)
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual(yield* ledger(job), [])
      const { runs: kept } = yield* runs.list({ workspaceId, limit: 10, offset: 0 })
      assert.deepStrictEqual(
        kept.map(({ cronJobId }) => cronJobId),
        [null]
      )
      assert.strictEqual((yield* Effect.flip(jobs.get(user, job.id)))._tag, "NotFound")
      assert.strictEqual((yield* Effect.flip(jobs.remove(user, job.id)))._tag, "NotFound")
    }).pipe(Effect.provide(layerAtRest()))
  )
})

describe("whatever the store does", () => {
  it.effect("it is tried again, more seldom as time goes on, and what came due is made up", () =>
    Effect.gen(function* () {
      const { ledger, make } = yield* makeSubject
      const repo = yield* CronFireRepo
      const job = yield* make({ schedule: "* * * * *" })
      let isAway = true
      let asked = 0
      const flaky = CronFireRepo.of({
        ...repo,
        untilDue: Effect.suspend(() => {
          asked++
          return isAway ? away : repo.untilDue
        }),
        claim: (limit) =>
          asked % 2 === 0 ? Effect.die(new Error("a row that does not decode")) : repo.claim(limit)
      })
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(Layer.fresh(SchedulerLayer.layer), scope).pipe(
        Effect.provideService(CronFireRepo, flaky)
      )
      yield* TestClock.adjust("3 minutes")
      assert.isAtLeast(asked, 30)
      assert.isAtMost(asked, 45)
      isAway = false
      yield* TestClock.adjust("15 seconds")
      assert.deepStrictEqual(yield* ledger(job), [
        "11-20T08:03:00 fired",
        "11-20T08:02:00 missed",
        "11-20T08:01:00 missed"
      ])
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("it is left alone while nothing is due", () =>
    Effect.gen(function* () {
      const { make } = yield* makeSubject
      const repo = yield* CronFireRepo
      yield* make({ schedule: "@yearly" })
      let asked = 0
      const counted = CronFireRepo.of({
        ...repo,
        untilDue: Effect.tap(repo.untilDue, () => Effect.sync(() => asked++)),
        claim: () => Effect.die(new Error("nothing is due"))
      })
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(Layer.fresh(SchedulerLayer.layer), scope).pipe(
        Effect.provideService(CronFireRepo, counted)
      )
      yield* TestClock.adjust("1 hour")
      assert.isAtLeast(asked, 120)
      assert.isAtMost(asked, 122)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("schedules that take long to compute hold up no batch: what is left of it stays due", () =>
    Effect.gen(function* () {
      const { fires, make } = yield* makeSubject
      for (let n = 0; n < 5; n++) yield* make({ schedule: "* * * * *" })
      yield* TestClock.adjust("1 minute")
      const clock = yield* Clock.Clock
      let nanos = 0n
      const slow: Clock.Clock = {
        ...clock,
        monotonicTimeNanos: Effect.sync(() => {
          nanos += 400_000_000n
          return nanos
        })
      }
      const scheduler = Effect.flatMap(Scheduler, ({ fireDue }) => fireDue).pipe(
        Effect.provide(Layer.fresh(Fires.layer)),
        Effect.provideService(Clock.Clock, slow)
      )
      const first = yield* scheduler
      assert.isAtLeast(first, 1)
      assert.isBelow(first, 5)
      assert.strictEqual((yield* fires.claim(10)).jobs.length, 5 - first)
      while ((yield* scheduler) > 0);
      assert.strictEqual((yield* fires.claim(10)).jobs.length, 0)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("the ledger is shortened each minute, also when the clock of the process was set back", () =>
    Effect.gen(function* () {
      const repo = yield* CronFireRepo
      let asked = 0
      const counted = CronFireRepo.of({
        ...repo,
        forget: () =>
          Effect.sync(() => {
            asked++
            return 0
          })
      })
      const clock = yield* Clock.Clock
      let back = 0
      const wrong: Clock.Clock = {
        ...clock,
        currentTimeMillis: Effect.map(clock.currentTimeMillis, (at) => at - back)
      }
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(Layer.fresh(SchedulerLayer.layer), scope).pipe(
        Effect.provideService(CronFireRepo, counted),
        Effect.provideService(Clock.Clock, wrong)
      )
      yield* TestClock.adjust("5 minutes")
      const before = asked
      back = 365 * 86_400_000
      yield* TestClock.adjust("10 minutes")
      assert.isAtLeast(before, 5)
      assert.isAtMost(before, 6)
      assert.isAtLeast(asked - before, 9)
    }).pipe(Effect.provide(layerAtRest()))
  )
})
