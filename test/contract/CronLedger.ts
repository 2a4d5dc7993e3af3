import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { StoredCronJob } from "../../src/Schemas/CronJob.ts"
import type { WorkspaceId } from "../../src/Schemas/Ids.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, unicode } from "../support/Fixtures.ts"
import { day, hour, idsOf, never, slot, subject } from "./CronFireSubject.ts"

export const suite = (it: It) =>
  describe("CronFireRepo, its ledger", () => {
    it.effect("writes slots, runs and next instants at once, and shows the newest slots first", () =>
      Effect.gen(function* () {
        const { claim, fires, ledger, make, newRunOf, next } = yield* subject
        const [a, b] = [yield* make({ prompt: unicode }), yield* make()]
        const run = yield* newRunOf(a)
        const made = yield* fires.record({
          firedAt: at(9),
          slots: [
            { cronJobId: a.id, scheduledAt: slot(0), outcome: "missed", run: null },
            { cronJobId: a.id, scheduledAt: slot(1), outcome: "fired", run },
            { cronJobId: b.id, scheduledAt: slot(1), outcome: "overlap", run: null },
            { cronJobId: b.id, scheduledAt: slot(2), outcome: "agent_inactive", run: null }
          ],
          backlogs: [],
          next: [
            { cronJobId: a.id, nextFireAt: never },
            { cronJobId: b.id, nextFireAt: null }
          ]
        })
        assert.deepStrictEqual(made, [run.id])
        assert.deepStrictEqual(yield* (yield* RunRepo).find(run.id), Option.some(run))
        assert.deepStrictEqual(yield* ledger(a), [
          { scheduledAt: slot(1), firedAt: at(9), outcome: "fired", runId: run.id },
          { scheduledAt: slot(0), firedAt: at(9), outcome: "missed", runId: null }
        ])
        assert.deepStrictEqual(
          (yield* ledger(b)).map(({ outcome }) => outcome),
          ["agent_inactive", "overlap"]
        )
        const [second, ...others] = yield* fires.list({ cronJobId: a.id, limit: 1, offset: 1 })
        assert.deepStrictEqual([second?.scheduledAt, others], [slot(0), []])
        assert.deepStrictEqual([yield* next(a), yield* next(b)], [never, null])
        assert.deepStrictEqual(idsOf(yield* claim()), [])
      })
    )

    it.effect("makes no second run for a slot that is in the ledger", () =>
      Effect.gen(function* () {
        const { fires, ledger, make, newRunOf, next } = yield* subject
        const job = yield* make()
        const [first, second] = [yield* newRunOf(job), yield* newRunOf(job)]
        const record = (run: typeof first, nextFireAt: Date) =>
          fires.record({
            firedAt: at(),
            slots: [{ cronJobId: job.id, scheduledAt: slot(), outcome: "fired", run }],
            backlogs: [],
            next: [{ cronJobId: job.id, nextFireAt }]
          })
        assert.deepStrictEqual(yield* record(first, slot(1)), [first.id])
        assert.deepStrictEqual(yield* record(second, never), [])
        assert.deepStrictEqual(yield* (yield* RunRepo).find(second.id), Option.none())
        const [only, ...others] = yield* ledger(job)
        assert.deepStrictEqual([only?.runId, others], [first.id, []])
        assert.deepStrictEqual(yield* next(job), never)
      })
    )

    it.effect("keeps the slot of a run that is forgotten, without the run", () =>
      Effect.gen(function* () {
        const { fires, ledger, make, newRunOf } = yield* subject
        const job = yield* make()
        const run = yield* newRunOf(job)
        yield* fires.record({
          firedAt: at(9),
          slots: [{ cronJobId: job.id, scheduledAt: slot(), outcome: "fired", run }],
          backlogs: [],
          next: [{ cronJobId: job.id, nextFireAt: never }]
        })
        const runs = yield* RunRepo
        const ended = at(-3_000 * day)
        assert.isTrue(yield* runs.cancel(run.id, ended))
        const before = new Date(ended.getTime() + 1)
        yield* runs.prune({ eventsBefore: ended, journalsBefore: ended, runsBefore: before, limit: 1_000 })
        assert.deepStrictEqual(yield* runs.find(run.id), Option.none())
        assert.deepStrictEqual(yield* ledger(job), [
          { scheduledAt: slot(), firedAt: at(9), outcome: "fired", runId: null }
        ])
      })
    )

    it.effect("keeps missed slots in mind until they are recorded, and none older than it keeps", () =>
      Effect.gen(function* () {
        const { fires, ledger, make, transact } = yield* subject
        const job = yield* make()
        const now = Math.floor((yield* fires.now).getTime() / 1000) * 1000
        const past = (seconds: number) => new Date(now - seconds * 1000)
        const backlog = {
          cronJobId: job.id,
          schedule: "* * * * * *",
          timezone: "UTC",
          from: past(100),
          until: past(10)
        }
        yield* fires.record({ firedAt: at(), slots: [], backlogs: [backlog], next: [] })
        const claimed = Option.getOrThrow(yield* transact(fires.claimBacklog(day)))
        assert.deepStrictEqual(claimed.backlog, backlog)
        const slots = [past(100), past(99)]
        const rest = { ...backlog, from: past(98) }
        yield* fires.recordMissed(backlog, { at: at(3), slots, rest })
        const kept = Option.getOrThrow(yield* transact(fires.claimBacklog(50_000))).backlog
        const after = (yield* fires.now).getTime()
        assert.deepStrictEqual({ ...kept, from: 0 }, { ...rest, from: 0 })
        assert.isAtLeast(kept.from.getTime(), now - 50_000)
        assert.isAtMost(kept.from.getTime(), after - 49_000)
        assert.strictEqual(kept.from.getTime() % 1000, 0)
        yield* fires.recordMissed(rest, { at: at(4), slots: [past(98), past(99)], rest: null })
        assert.deepStrictEqual(yield* fires.claimBacklog(day), Option.none())
        assert.deepStrictEqual(yield* ledger(job), [
          { scheduledAt: past(98), firedAt: at(4), outcome: "missed", runId: null },
          { scheduledAt: past(99), firedAt: at(3), outcome: "missed", runId: null },
          { scheduledAt: past(100), firedAt: at(3), outcome: "missed", runId: null }
        ])
      })
    )

    it.effect("forgets the oldest slots, at most so many at once", () =>
      Effect.gen(function* () {
        const { fires, ledger, make } = yield* subject
        while ((yield* fires.forget(day, 1_000)) > 0);
        const job = yield* make()
        const young = new Date(Math.floor((yield* fires.now).getTime() / 1000) * 1000 - hour)
        const times = [slot(0), slot(1), slot(2), young]
        const slots = times.map((scheduledAt) => ({
          cronJobId: job.id,
          scheduledAt,
          outcome: "missed" as const,
          run: null
        }))
        yield* fires.record({ firedAt: at(), slots, backlogs: [], next: [] })
        const left = Effect.map(ledger(job), (all) => all.map(({ scheduledAt }) => scheduledAt))
        assert.strictEqual(yield* fires.forget(day, 2), 2)
        assert.deepStrictEqual(yield* left, [young, slot(2)])
        assert.strictEqual(yield* fires.forget(day, 2), 1)
        assert.strictEqual(yield* fires.forget(day, 2), 0)
        assert.deepStrictEqual(yield* left, [young])
      })
    )

    it.effect("removes a job with its ledger and what was to be recorded; its runs stay, without a job", () =>
      Effect.gen(function* () {
        const { fires, jobs, ledger, make, newRunOf, workspaceId } = yield* subject
        const [job, other] = [yield* make(), yield* make()]
        const runs = yield* RunRepo
        const [over, active] = [yield* newRunOf(job), yield* newRunOf(job)]
        const record = (cronJobId: StoredCronJob["id"], n: number, run: typeof over | null) => ({
          cronJobId,
          scheduledAt: slot(n),
          outcome: "fired" as const,
          run
        })
        yield* fires.record({
          firedAt: at(),
          slots: [record(job.id, 1, over), record(job.id, 2, active), record(other.id, 1, null)],
          backlogs: [
            { cronJobId: job.id, schedule: "@daily", timezone: "UTC", from: slot(), until: slot(1) }
          ],
          next: []
        })
        yield* runs.cancel(over.id, at())
        assert.isTrue(yield* jobs.remove(job.id))
        assert.isFalse(yield* jobs.remove(job.id))
        assert.deepStrictEqual(yield* jobs.find(job.id), Option.none())
        assert.deepStrictEqual(yield* ledger(job), [])
        assert.strictEqual((yield* ledger(other)).length, 1)
        assert.deepStrictEqual(yield* fires.claimBacklog(100 * 365 * day), Option.none())
        for (const { id } of [over, active]) {
          assert.isNull(Option.getOrThrow(yield* runs.find(id)).cronJobId)
        }
        yield* countedSlots(workspaceId, 1)
      })
    )
  })

/** The runs that wait are counted for the claim, also those that were inserted in bulk. */
const countedSlots = Effect.fnUntraced(function* (workspaceId: WorkspaceId, expected: number) {
  const runs = yield* RunRepo
  const claimed = yield* runs.claim({ worker: "w", leaseMillis: hour, limit: 1_000, perWorkspace: 1_000 })
  assert.strictEqual(claimed.filter((run) => run.workspaceId === workspaceId).length, expected)
})
