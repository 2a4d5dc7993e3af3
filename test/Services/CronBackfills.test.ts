import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { TestClock } from "effect/testing"
import { AgentInactive } from "../../src/Schemas/Agent.ts"
import type { BackfillCronJob } from "../../src/Schemas/CronBackfill.ts"
import { InvalidInput, NotFound } from "../../src/Schemas/Errors.ts"
import type { CronJobId } from "../../src/Schemas/Ids.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { start as startExecutor } from "../support/Engine.ts"
import { makeAgent, makeRun } from "../support/Fixtures.ts"
import { layerAtRest, makeTenant } from "../support/Service.ts"
import { makeSubject as makeScheduled, setTime, start } from "./Schedulers.ts"

const at = (text: string) => new Date(`2026-11-${text}:00.000Z`)
const ranged = (from: string, to: string, only?: BackfillCronJob["only"]): BackfillCronJob => ({
  from: at(from),
  to: at(to),
  ...(only !== undefined && { only })
})

const makeSubject = Effect.gen(function* () {
  const subject = yield* makeScheduled
  const { jobs, ledger, runsOf, user } = subject
  const backfill = ({ id }: { readonly id: CronJobId }, input: BackfillCronJob) =>
    Effect.map(jobs.backfill(user, id, input), ({ slots }) => slots)
  const waiting = ({ id }: { readonly id: CronJobId }) =>
    Effect.map(jobs.backfillState(user, id), ({ waiting }) => waiting)
  /** Ends the runs of a job, one after the other, until none comes any more; none was ever beside another. */
  const workOff = Effect.fnUntraced(function* (job: { readonly id: CronJobId }) {
    let over = 0
    for (;;) {
      yield* TestClock.adjust("1 second")
      const active = (yield* runsOf(job)).filter(({ status }) => status === "PENDING")
      if (active.length === 0) return over
      assert.lengthOf(active, 1)
      over++
      yield* subject.endRuns(job)
    }
  })
  /** The outcomes of the ledger. */
  const counts = (job: { readonly id: CronJobId }) =>
    Effect.map(ledger(job, 1_000), (entries) => {
      const found: Record<string, number> = {}
      for (const entry of entries) {
        const outcome = entry.split(" ")[1] ?? ""
        found[outcome] = (found[outcome] ?? 0) + 1
      }
      return found
    })
  return { ...subject, backfill, counts, waiting, workOff }
})

/** An hourly job of a week, of which 20 slots were missed. */
const makeWeek = Effect.gen(function* () {
  const subject = yield* makeSubject
  const job = yield* subject.make({ schedule: "@hourly" })
  const first = yield* start
  yield* setTime("2026-11-20T10:30:00.000Z")
  yield* subject.endRuns(job)
  yield* first.stop
  // 11:00 of that day to 06:00 of the next are missed, and 07:00 is handled.
  yield* setTime("2026-11-21T07:30:00.000Z")
  const second = yield* start
  yield* TestClock.adjust("1 second")
  yield* subject.endRuns(job)
  return { ...subject, job, stop: second.stop, week: ranged("14T08:00", "21T07:30") }
})

describe("a backfill", () => {
  it.effect("makes one run of each missed slot, however often it is asked for", () =>
    Effect.gen(function* () {
      const { backfill, counts, job, jobs, ledger, runsOf, user, waiting, week, workOff } = yield* makeWeek
      assert.deepStrictEqual(yield* counts(job), { fired: 2, missed: 20, overlap: 1 })
      const both = Effect.all([backfill(job, week), backfill(job, week)], { concurrency: "unbounded" })
      assert.sameMembers(yield* both, [20, 0])
      assert.strictEqual(yield* backfill(job, week), 0)
      yield* TestClock.adjust(0)
      assert.strictEqual(yield* waiting(job), 19)
      assert.deepStrictEqual((yield* jobs.backfillState(user, job.id)).next, at("20T12:00"))
      assert.include(yield* ledger(job), "11-20T11:00:00 backfilled")
      assert.strictEqual(yield* backfill(job, week), 0)
      assert.strictEqual(yield* workOff(job), 20)
      assert.strictEqual(yield* backfill(job, week), 0)
      yield* TestClock.adjust("10 minutes")
      assert.lengthOf(yield* runsOf(job), 22)
      assert.deepStrictEqual(yield* counts(job), { fired: 2, backfilled: 20, overlap: 1 })
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("takes the oldest slot first, whatever was asked for first, and each at its time", () =>
    Effect.gen(function* () {
      const { backfill, endRuns, fires, job, workOff } = yield* makeWeek
      yield* backfill(job, ranged("20T20:00", "20T22:00"))
      yield* TestClock.adjust(0)
      yield* backfill(job, ranged("20T11:00", "20T13:00"))
      yield* endRuns(job)
      yield* workOff(job)
      const entries = (yield* fires.list({ cronJobId: job.id, limit: 100, offset: 0 }))
        .filter(({ outcome }) => outcome === "backfilled")
        .sort((a, b) => a.firedAt.getTime() - b.firedAt.getTime())
      assert.deepStrictEqual(
        entries.map(({ scheduledAt }) => scheduledAt.getUTCHours()),
        [20, 11, 12, 21]
      )
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("of all makes up every instant that had no run, also those before the job was", () =>
    Effect.gen(function* () {
      const { backfill, counts, job, workOff } = yield* makeWeek
      // 09:00 fired, 10:00 was an overlap, then 20 were missed, and 07:00 fired.
      assert.strictEqual(yield* backfill(job, ranged("20T05:00", "21T07:30", "all")), 25)
      assert.strictEqual(yield* workOff(job), 25)
      assert.deepStrictEqual(yield* counts(job), { fired: 2, backfilled: 25 })
      assert.strictEqual(yield* backfill(job, ranged("20T05:00", "21T07:30", "all")), 0)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("begins on a slot and ends before one", () =>
    Effect.gen(function* () {
      const { backfill, job, waiting, jobs, user } = yield* makeWeek
      yield* jobs.update(user, job.id, { isActive: false })
      assert.strictEqual(yield* backfill(job, ranged("20T11:00", "20T12:00")), 1)
      assert.strictEqual(yield* backfill(job, { ...ranged("20T12:00", "20T13:00"), from: at("20T12:01") }), 0)
      assert.strictEqual(yield* waiting(job), 1)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("also has what was missed and is not in the ledger yet", () =>
    Effect.gen(function* () {
      const { backfill, job, jobs, repo, fires, user } = yield* makeWeek
      yield* jobs.update(user, job.id, { isActive: false })
      const { schedule, timezone } = Option.getOrThrow(yield* repo.find(job.id))
      const backlog = { cronJobId: job.id, schedule, timezone, from: at("15T05:00"), until: at("15T09:00") }
      yield* fires.record({ firedAt: at("21T07:30"), slots: [], backlogs: [backlog], next: [] })
      assert.strictEqual(yield* backfill(job, ranged("15T06:30", "15T12:00")), 2)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("goes on as soon as a run is over, and not when it would look again", () =>
    Effect.gen(function* () {
      const { backfill, job, runsOf, week } = yield* makeWeek
      yield* startExecutor
      yield* backfill(job, week)
      yield* TestClock.adjust("25 seconds")
      const all = yield* runsOf(job)
      assert.lengthOf(all, 22)
      assert.isTrue(all.every(({ status }) => status === "COMPLETED" || status === "CANCELLED"))
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("goes on while the job is off, and with its new schedule", () =>
    Effect.gen(function* () {
      const { backfill, counts, job, jobs, user, week, workOff } = yield* makeWeek
      yield* backfill(job, week)
      yield* jobs.update(user, job.id, { schedule: "@yearly", timezone: "Asia/Tokyo", isActive: false })
      assert.strictEqual(yield* workOff(job), 20)
      assert.deepStrictEqual(yield* counts(job), { fired: 2, backfilled: 20, overlap: 1 })
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("leaves a slot that comes meanwhile an overlap, which it can make up too", () =>
    Effect.gen(function* () {
      const { backfill, counts, job, ledger, week, workOff } = yield* makeWeek
      yield* backfill(job, week)
      yield* TestClock.adjust("40 minutes")
      assert.include(yield* ledger(job), "11-21T08:00:00 overlap")
      yield* workOff(job)
      assert.strictEqual(yield* backfill(job, ranged("21T08:00", "21T08:01", "all")), 1)
      yield* workOff(job)
      assert.deepStrictEqual(yield* counts(job), { fired: 2, backfilled: 21, overlap: 1 })
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("leaves its turn to the slot that is due now", () =>
    Effect.gen(function* () {
      const { backfill, endRuns, job, ledger, stop, waiting, week } = yield* makeWeek
      yield* backfill(job, week)
      yield* TestClock.adjust(0)
      yield* stop
      yield* endRuns(job)
      yield* setTime("2026-11-21T08:00:00.000Z")
      yield* start
      assert.include(yield* ledger(job), "11-21T08:00:00 fired")
      assert.strictEqual(yield* waiting(job), 19)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(yield* waiting(job), 19)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("waits while the agent is switched off or too many runs wait, and looks again now and then", () =>
    Effect.gen(function* () {
      const { backfill, make, runsOf, waiting, workspaceId, workOff } = yield* makeSubject
      const agents = yield* AgentRepo
      const agent = yield* makeAgent(workspaceId)
      const job = yield* make({ agentId: agent.id })
      yield* start
      yield* backfill(job, ranged("17T00:00", "20T00:00", "all"))
      yield* agents.update(agent.id, { isActive: false }, new Date())
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(yield* waiting(job), 3)
      yield* agents.update(agent.id, { isActive: true }, new Date())
      yield* makeRun(workspaceId)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* runsOf(job), [])
      yield* backfill(yield* make(), ranged("17T00:00", "18T00:00", "all"))
      assert.strictEqual(yield* workOff(job), 0)
    }).pipe(Effect.provide(layerAtRest({ quotas: { pendingRuns: { free: 1, pro: 1 } } } as never)))
  )

  it.effect("makes no more after it is cancelled, but ends what it began", () =>
    Effect.gen(function* () {
      const { backfill, job, jobs, runsOf, user, waiting, week, workOff } = yield* makeWeek
      yield* backfill(job, week)
      yield* TestClock.adjust(0)
      yield* jobs.cancelBackfill(user, job.id)
      yield* jobs.cancelBackfill(user, job.id)
      assert.strictEqual(yield* waiting(job), 0)
      assert.lengthOf(
        (yield* runsOf(job)).filter(({ status }) => status === "PENDING"),
        1
      )
      assert.strictEqual(yield* workOff(job), 1)
      assert.strictEqual(yield* backfill(job, week), 19)
    }).pipe(Effect.provide(layerAtRest()))
  )
})

describe("a backfill is refused", () => {
  it.effect("to others, of too many slots, and while the agent is switched off", () =>
    Effect.gen(function* () {
      const { backfill, jobs, make, user, workspaceId } = yield* makeSubject
      const agent = yield* makeAgent(workspaceId)
      const job = yield* make({ schedule: "* * * * *", agentId: agent.id })
      const stranger = yield* makeTenant()
      const range = ranged("19T00:00", "19T01:00", "all")
      for (const refused of [
        jobs.backfill(stranger.user, job.id, range),
        jobs.backfillState(stranger.user, job.id),
        jobs.cancelBackfill(stranger.user, job.id),
        jobs.backfill(user, "cron_none" as CronJobId, range)
      ]) {
        assert.instanceOf(yield* Effect.flip(Effect.asVoid(refused)), NotFound)
      }
      for (const only of ["all", "missed"] as const) {
        const many = yield* Effect.flip(backfill(job, ranged("19T00:00", "19T16:41", only)))
        assert.deepStrictEqual(
          many,
          new InvalidInput({ error: "from: the range may have at most 1000 slots of the schedule" })
        )
      }
      assert.strictEqual(yield* backfill(job, ranged("19T00:00", "19T16:40", "all")), 1_000)
      yield* (yield* AgentRepo).update(agent.id, { isActive: false }, new Date())
      assert.instanceOf(yield* Effect.flip(backfill(job, range)), AgentInactive)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("where more than 10,000 slots of a job would wait, and then nothing is queued", () =>
    Effect.gen(function* () {
      const { backfill, make, waiting } = yield* makeSubject
      const job = yield* make({ schedule: "* * * * *" })
      for (let day = 1; day <= 10; day++) {
        const of = `${String(day).padStart(2, "0")}T`
        assert.strictEqual(yield* backfill(job, ranged(`${of}00:00`, `${of}16:40`, "all")), 1_000)
      }
      const more = yield* Effect.flip(backfill(job, ranged("12T00:00", "12T00:01", "all")))
      assert.deepStrictEqual(
        more,
        new InvalidInput({ error: "from: at most 10000 slots of a cron job may wait for their runs" })
      )
      assert.strictEqual(yield* waiting(job), 10_000)
      assert.strictEqual(yield* backfill(job, ranged("01T00:00", "01T16:40", "all")), 0)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("of no slots of a schedule that has none in the range: there is nothing to do", () =>
    Effect.gen(function* () {
      const { backfill, make } = yield* makeSubject
      const job = yield* make({ schedule: "@yearly" })
      assert.strictEqual(yield* backfill(job, ranged("10T00:00", "19T00:00", "all")), 0)
    }).pipe(Effect.provide(layerAtRest()))
  )
})
