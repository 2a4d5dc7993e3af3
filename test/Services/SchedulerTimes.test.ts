import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { TestClock } from "effect/testing"
import * as SchedulerLayer from "../../src/Layers/Scheduler.ts"
import type { NextDue } from "../../src/Schemas/CronFire.ts"
import type { UpdateCronJob } from "../../src/Schemas/CronJob.ts"
import type { Unavailable } from "../../src/Schemas/Errors.ts"
import type { CronJobId } from "../../src/Schemas/Ids.ts"
import { CronFireRepo } from "../../src/Services/CronFireRepo.ts"
import { away, start as startExecutor } from "../support/Engine.ts"
import { layerAtRest } from "../support/Service.ts"
import { makeSubject, setTime, start } from "./Schedulers.ts"

type Repo = CronFireRepo["Service"]
type Claimed = Effect.Success<ReturnType<Repo["claimBacklog"]>>

const nothing = Effect.succeed(Option.none())

/** A scheduler over a store where nothing is due or missed, but for what is given. */
const startOver = Effect.fnUntraced(function* (given: Partial<Repo>) {
  const quiet = { untilDue: nothing, claimBacklog: () => nothing, forget: () => Effect.succeed(0) }
  const repo = { ...(yield* CronFireRepo), ...quiet, ...given }
  yield* Layer.build(Layer.fresh(SchedulerLayer.layer)).pipe(Effect.provideService(CronFireRepo, repo))
  yield* TestClock.adjust(0)
})

/** Answers one after the other, and then for ever the last; `times` has the milliseconds of each call. */
const scripted = <A>(...answers: ReadonlyArray<Effect.Effect<A, Unavailable>>) => {
  const times: Array<number> = []
  const call = Effect.gen(function* () {
    times.push(yield* Clock.currentTimeMillis)
    // What spins would never let the clock move.
    if (times.length > 100) return yield* Effect.never
    return yield* answers[times.length - 1] ?? answers[answers.length - 1] ?? Effect.never
  })
  return { call, times }
}

const dueIn = (millis: number) => Effect.succeed(Option.some<NextDue>({ what: "slot", millis }))
const due = dueIn(0)
const missed = Effect.succeedSome({
  at: new Date(0),
  backlog: {
    cronJobId: "cron_1" as CronJobId,
    schedule: "* * * * * *",
    timezone: "UTC",
    from: new Date(0),
    until: new Date(0)
  }
})

describe("a scheduler that sleeps", () => {
  it.effect.each<[string, UpdateCronJob]>([
    ["rescheduled", { schedule: "*/10 * * * * *" }],
    ["switched on", { isActive: true }]
  ])("fires a job that was %s the moment it is due, long before it would look", ([, patch]) =>
    Effect.gen(function* () {
      const { jobs, ledger, make, user } = yield* makeSubject
      const isSwitched = "isActive" in patch
      const job = yield* make({ schedule: isSwitched ? "*/10 * * * * *" : "@yearly" })
      if (isSwitched) yield* jobs.update(user, job.id, { isActive: false })
      yield* start
      yield* TestClock.adjust("5 seconds")
      yield* jobs.update(user, job.id, patch)
      yield* setTime("2026-11-20T08:00:09.999Z")
      assert.deepStrictEqual(yield* ledger(job), [])
      yield* setTime("2026-11-20T08:00:10.001Z")
      assert.deepStrictEqual(yield* ledger(job), ["11-20T08:00:10 fired"])
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("fires a job that was made the moment it is due, long before it would look", () =>
    Effect.gen(function* () {
      const { ledger, make } = yield* makeSubject
      yield* start
      yield* TestClock.adjust("5 seconds")
      const job = yield* make({ schedule: "*/10 * * * * *" })
      yield* setTime("2026-11-20T08:00:10.001Z")
      assert.deepStrictEqual(yield* ledger(job), ["11-20T08:00:10 fired"])
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("has a run begin the moment it is made, long before an executor would look", () =>
    Effect.gen(function* () {
      const { make, runsOf } = yield* makeSubject
      yield* start
      yield* startExecutor
      const job = yield* make({ schedule: "0 * * * * *" })
      yield* setTime("2026-11-20T08:00:59.999Z")
      assert.deepStrictEqual(yield* runsOf(job), [])
      yield* setTime("2026-11-20T08:01:00.001Z")
      const startedAt = (yield* runsOf(job)).map((run) => run.startedAt?.toISOString())
      assert.strictEqual(startedAt.length, 1)
      assert.oneOf(startedAt[0], ["2026-11-20T08:01:00.000Z", "2026-11-20T08:01:00.001Z"])
    }).pipe(Effect.provide(layerAtRest()))
  )
})

describe("a scheduler", () => {
  it.effect("begins its pauses anew after a success", () =>
    Effect.gen(function* () {
      const soon = dueIn(10)
      const { call, times } = scripted<Option.Option<NextDue>>(away, away, away, soon, away, away, nothing)
      yield* startOver({ untilDue: call })
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(times, [0, 250, 750, 1750, 1760, 2010, 2510])
    }).pipe(Effect.scoped, Effect.provide(layerAtRest()))
  )

  it.effect("looks again after 50 ms for a job that is due and that others hold", () =>
    Effect.gen(function* () {
      const { call, times } = scripted<Option.Option<NextDue>>(due)
      yield* startOver({
        untilDue: call,
        claim: () => Effect.succeed({ at: new Date(0), jobs: [] })
      })
      yield* TestClock.adjust(200)
      assert.deepStrictEqual(times, [0, 50, 100, 150, 200])
    }).pipe(Effect.scoped, Effect.provide(layerAtRest()))
  )

  it.effect("records missed slots batch after batch, and then only now and then", () =>
    Effect.gen(function* () {
      const { call, times } = scripted<Claimed>(missed, missed, nothing)
      yield* startOver({ claimBacklog: () => call, recordMissed: () => Effect.void })
      yield* TestClock.adjust("61 seconds")
      assert.deepStrictEqual(times, [0, 20, 40, 60_040])
    }).pipe(Effect.scoped, Effect.provide(layerAtRest()))
  )

  it.effect("records missed slots after a pause when that failed", () =>
    Effect.gen(function* () {
      const { call, times } = scripted<Claimed>(away, nothing)
      yield* startOver({ claimBacklog: () => call })
      yield* TestClock.adjust("50 seconds")
      assert.deepStrictEqual(times, [0, 250])
    }).pipe(Effect.scoped, Effect.provide(layerAtRest()))
  )

  it.effect("records missed slots as soon as it has fired, however long it was at rest", () =>
    Effect.gen(function* () {
      const { call, times } = scripted<Claimed>(nothing)
      const { call: untilDue } = scripted<Option.Option<NextDue>>(dueIn(5_000), due, nothing)
      yield* startOver({
        claimBacklog: () => call,
        untilDue,
        claim: () => Effect.succeed({ at: new Date(0), jobs: [] })
      })
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(times, [0, 5_000])
    }).pipe(Effect.scoped, Effect.provide(layerAtRest()))
  )
})
