import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { backfillLookMillis, type FireOutcome } from "../../src/Schemas/CronFire.ts"
import type { CronJobId, UserId } from "../../src/Schemas/Ids.ts"
import type { StoredRun } from "../../src/Schemas/Run.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { CronBackfillRepo } from "../../src/Services/CronBackfillRepo.ts"
import { CronJobRepo } from "../../src/Services/CronJobRepo.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeAgent, makeRun, makeUser } from "../support/Fixtures.ts"
import { day, never, slot, subject } from "./CronFireSubject.ts"
import { makeCronJob } from "./CronJobRepo.ts"

const keep = 100_000 * day
const anyNumber = { free: null, pro: null }

/** What an earlier test left waiting is taken out of the way first, as in `subject`. */
const makeSubject = Effect.gen(function* () {
  const { fires, ledger, newRunOf, next, transact, workspaceId } = yield* subject
  const backfills = yield* CronBackfillRepo
  const runs = yield* RunRepo
  const claim = (limit = 100, most: Parameters<typeof backfills.claim>[1] = anyNumber) =>
    transact(backfills.claim(limit, most))
  for (const { id } of (yield* claim(10_000)).jobs) yield* backfills.cancel(id)
  const make = (given: Parameters<typeof makeCronJob>[1] = {}) =>
    makeCronJob(workspaceId, { nextFireAt: never, ...given })
  const queue = (id: CronJobId, ...slots: ReadonlyArray<Date>) => transact(backfills.queue(id, slots, keep))
  const enter = (
    cronJobId: CronJobId,
    scheduledAt: Date,
    outcome: FireOutcome,
    run: StoredRun | null = null
  ) =>
    fires.record({
      firedAt: at(1),
      slots: [{ cronJobId, scheduledAt, outcome, run }],
      backlogs: [],
      next: []
    })
  return { backfills, claim, enter, fires, ledger, make, newRunOf, next, queue, runs, transact, workspaceId }
})

const slotsOf = ({ jobs }: { readonly jobs: ReadonlyArray<{ readonly slot: Date }> }) =>
  jobs.map((job) => job.slot)

export const suite = (it: It) =>
  describe("CronBackfillRepo", { concurrent: false }, () => {
    it.effect(
      "lets each slot wait once, but none that had a run or is too old, and gives the oldest first",
      () =>
        Effect.gen(function* () {
          const { backfills, claim, enter, make, newRunOf, queue, transact } = yield* makeSubject
          const job = yield* make()
          yield* enter(job.id, slot(1), "fired", yield* newRunOf(job))
          for (const [n, outcome] of (["missed", "overlap", "agent_inactive"] as const).entries()) {
            yield* enter(job.id, slot(2 + n), outcome)
          }
          assert.deepStrictEqual(yield* backfills.state(job.id), { waiting: 0, next: null })
          assert.deepStrictEqual(yield* queue(job.id, slot(3), slot(1)), { queued: 1, waiting: 1 })
          assert.deepStrictEqual(yield* queue(job.id, slot(1), slot(2), slot(3), slot(4), slot(9)), {
            queued: 3,
            waiting: 4
          })
          assert.deepStrictEqual(yield* queue(job.id, slot(2), slot(3)), { queued: 0, waiting: 4 })
          assert.deepStrictEqual(yield* transact(backfills.queue(job.id, [slot(7)], day)), {
            queued: 0,
            waiting: 4
          })
          assert.deepStrictEqual(yield* backfills.state(job.id), { waiting: 4, next: slot(2) })
          assert.deepStrictEqual(slotsOf(yield* claim()), [slot(2)])
        })
    )

    it.effect("makes a run of a slot, which is in the ledger and waits no longer", () =>
      Effect.gen(function* () {
        const { backfills, claim, enter, ledger, make, newRunOf, queue, runs } = yield* makeSubject
        const job = yield* make()
        yield* enter(job.id, slot(2), "missed")
        yield* queue(job.id, slot(2), slot(3))
        const again = new Date((yield* claim()).at.getTime() + day)
        for (const n of [2, 3]) {
          const run = yield* newRunOf(job)
          const looked = [{ cronJobId: job.id, scheduledAt: slot(n), run, again }]
          assert.deepStrictEqual(yield* backfills.record(at(9), looked), [run.id])
          assert.deepStrictEqual(yield* runs.find(run.id), Option.some(run))
          assert.deepStrictEqual((yield* ledger(job))[0], {
            scheduledAt: slot(n),
            firedAt: at(9),
            outcome: "backfilled",
            runId: run.id
          })
          const left = n === 2 ? { waiting: 1, next: slot(3) } : { waiting: 0, next: null }
          assert.deepStrictEqual(yield* backfills.state(job.id), left)
          assert.deepStrictEqual(slotsOf(yield* claim()), [])
          yield* runs.cancel(run.id, at())
          // Its run is over: what still waits is looked at at once.
          assert.deepStrictEqual(slotsOf(yield* claim()), n === 2 ? [slot(3)] : [])
        }
        assert.lengthOf(yield* ledger(job), 2)
        assert.deepStrictEqual(yield* queue(job.id, slot(2), slot(3)), { queued: 0, waiting: 0 })
      })
    )

    it.effect("makes no second run of a slot that had one meanwhile, and looks at the next at once", () =>
      Effect.gen(function* () {
        const { backfills, claim, enter, ledger, make, newRunOf, queue, runs } = yield* makeSubject
        const job = yield* make()
        yield* queue(job.id, slot(2), slot(3))
        const [first, second] = [yield* newRunOf(job), yield* newRunOf(job)]
        yield* enter(job.id, slot(2), "fired", first)
        yield* runs.cancel(first.id, at())
        const { at: moment } = yield* claim()
        const again = new Date(moment.getTime() + day)
        const looked = [{ cronJobId: job.id, scheduledAt: slot(2), run: second, again }]
        assert.deepStrictEqual(yield* backfills.record(moment, looked), [])
        assert.deepStrictEqual(yield* runs.find(second.id), Option.none())
        assert.deepStrictEqual(
          (yield* ledger(job)).map(({ outcome, runId }) => [outcome, runId]),
          [["fired", first.id]]
        )
        assert.deepStrictEqual(slotsOf(yield* claim()), [slot(3)])
      })
    )

    it.effect("tells whether the job is busy, its agent active, and how many runs may still wait", () =>
      Effect.gen(function* () {
        const { claim, make, queue, runs, workspaceId } = yield* makeSubject
        const agent = yield* makeAgent(workspaceId)
        const job = yield* make({ agentId: agent.id })
        yield* queue(job.id, slot(2))
        const [idle] = (yield* claim()).jobs
        assert.deepInclude(idle, {
          id: job.id,
          workspaceId,
          agentId: agent.id,
          prompt: job.prompt,
          slot: slot(2),
          isBusy: false,
          agentIsActive: true,
          room: null
        })
        const run = yield* makeRun(workspaceId, { cronJobId: job.id })
        yield* (yield* AgentRepo).update(agent.id, { isActive: false }, at())
        const [busy] = (yield* claim(100, { free: 3, pro: 3 })).jobs
        assert.deepInclude(busy, { isBusy: true, agentIsActive: false, room: 2 })
        yield* runs.cancel(run.id, at())
        const [full] = (yield* claim(100, { free: 0, pro: 0 })).jobs
        assert.deepInclude(full, { isBusy: false, room: 0 })
      })
    )

    it.effect("looks at a job again when it was told, or as soon as its run is over", () =>
      Effect.gen(function* () {
        const { backfills, claim, fires, make, queue, runs, workspaceId } = yield* makeSubject
        const job = yield* make()
        yield* queue(job.id, slot(2))
        const until = Effect.map(fires.untilDue, Option.getOrThrow)
        assert.strictEqual((yield* until).what, "backfill")
        assert.isAtMost((yield* until).millis, 0)
        const run = yield* makeRun(workspaceId, { cronJobId: job.id })
        const { at: moment } = yield* claim()
        const again = new Date(moment.getTime() + day)
        yield* backfills.record(moment, [{ cronJobId: job.id, scheduledAt: slot(2), run: null, again }])
        assert.deepStrictEqual(yield* until, { what: "backfill", millis: backfillLookMillis })
        assert.deepStrictEqual(slotsOf(yield* claim()), [])
        yield* runs.cancel(run.id, at())
        assert.isAtMost((yield* until).millis, 0)
        assert.deepStrictEqual(slotsOf(yield* claim()), [slot(2)])
      })
    )

    it.effect("leaves a job whose schedule is due to that", () =>
      Effect.gen(function* () {
        const { claim, fires, make, queue } = yield* makeSubject
        const job = yield* make({ nextFireAt: slot(5) })
        yield* queue(job.id, slot(2))
        assert.deepStrictEqual(slotsOf(yield* claim()), [])
        assert.strictEqual(Option.getOrThrow(yield* fires.untilDue).what, "slot")
        yield* (yield* CronJobRepo).update(job.id, { nextFireAt: null, isActive: false }, at())
        assert.deepStrictEqual(slotsOf(yield* claim()), [slot(2)])
      })
    )

    it.effect("forgets what waits when it is cancelled, when the job goes, and when its maker does", () =>
      Effect.gen(function* () {
        const { backfills, claim, make, queue, workspaceId } = yield* makeSubject
        const jobs = yield* CronJobRepo
        const { id: createdBy } = yield* makeUser
        yield* (yield* WorkspaceRepo).addMember(workspaceId, createdBy, "member", at())
        const stop = jobs.stopOf({ userId: createdBy as UserId, workspaceId }, "maker_left", at(5))
        for (const [isActive, forget] of [
          [true, (id: CronJobId) => backfills.cancel(id)],
          [true, (id: CronJobId) => jobs.remove(id)],
          [true, () => stop],
          [false, () => stop]
        ] as const) {
          const job = yield* make({ createdBy, isActive, nextFireAt: isActive ? never : null })
          yield* queue(job.id, slot(2), slot(3))
          yield* forget(job.id)
          assert.deepStrictEqual(yield* backfills.state(job.id), { waiting: 0, next: null })
          assert.deepStrictEqual(slotsOf(yield* claim()), [])
          const found = yield* jobs.find(job.id)
          if (Option.isNone(found)) continue
          if (!isActive) assert.isNull(found.value.stoppedAt)
          assert.deepStrictEqual(yield* queue(job.id, slot(4)), { queued: 1, waiting: 1 })
          yield* backfills.cancel(job.id)
        }
      })
    )

    it.effect("has the missed slots of a range, oldest first, and what is not in the ledger yet", () =>
      Effect.gen(function* () {
        const { backfills, enter, fires, make } = yield* makeSubject
        const [job, other] = [yield* make(), yield* make()]
        for (const n of [5, 1, 3, 2, 4]) yield* enter(job.id, slot(n), n === 3 ? "overlap" : "missed")
        const range = { from: slot(1), to: slot(5) }
        assert.deepStrictEqual(yield* backfills.missed(job.id, range, 9), [slot(1), slot(2), slot(4)])
        assert.deepStrictEqual(yield* backfills.missed(job.id, range, 1), [slot(1)])
        assert.deepStrictEqual(yield* backfills.missed(other.id, range, 9), [])
        const { schedule, timezone } = job
        const backlog = { cronJobId: job.id, schedule, timezone, from: slot(6), until: slot(8) }
        yield* fires.record({ firedAt: at(1), slots: [], backlogs: [backlog], next: [] })
        assert.deepStrictEqual(yield* backfills.backlogs(job.id), [backlog])
        yield* fires.recordMissed(backlog, { at: at(1), slots: [], rest: null })
        assert.deepStrictEqual(yield* backfills.backlogs(job.id), [])
      })
    )
  })
