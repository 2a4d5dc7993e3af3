import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type DueJob, runOfJob } from "../../src/Schemas/CronFire.ts"
import type { StoredCronJob } from "../../src/Schemas/CronJob.ts"
import type { RunId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { CronFireRepo } from "../../src/Services/CronFireRepo.ts"
import { CronJobRepo } from "../../src/Services/CronJobRepo.ts"
import { RunRepo } from "../../src/Services/RunRepo.ts"
import { Transaction } from "../../src/Services/Transaction.ts"
import type { It } from "../support/Backends.ts"
import { at, makeAgent, makeProject, makeRun, makeWorkspace, newId, unicode } from "../support/Fixtures.ts"
import { makeCronJob } from "./CronJobRepo.ts"
import { readsWhileLocked } from "./Locking.ts"

const hour = 3_600_000
const day = 24 * hour
/** Long past, so that it is due by any clock. */
const slot = (n = 0) => new Date(Date.UTC(2020, 0, 1, 0, 0, n))
const never = new Date("2100-01-01T00:00:00.000Z")

/** What an earlier test left due is taken out of the way first: a claim takes jobs of every workspace. */
const subject = Effect.gen(function* () {
  const fires = yield* CronFireRepo
  const jobs = yield* CronJobRepo
  const { atomically: transact } = yield* Transaction
  const claim = (limit = 100) => transact(fires.claim(limit))
  for (const { id } of (yield* claim(10_000)).jobs) yield* jobs.update(id, { nextFireAt: null }, at())
  const workspaceId = yield* makeWorkspace
  const make = (given: Partial<Omit<StoredCronJob, "agent">> = {}) =>
    makeCronJob(workspaceId, { nextFireAt: slot(), ...given })
  const next = (job: { readonly id: StoredCronJob["id"] }) =>
    Effect.map(jobs.find(job.id), (found) => Option.getOrThrow(found).nextFireAt)
  const ledger = (job: { readonly id: StoredCronJob["id"] }) =>
    fires.list({ cronJobId: job.id, limit: 100, offset: 0 })
  const newRunOf = (job: Pick<DueJob, "id" | "workspaceId" | "projectId" | "agentId" | "prompt">) =>
    Effect.map(newId<RunId>("run"), (id) => runOfJob(job, id, at(7)))
  return { claim, fires, jobs, ledger, make, newRunOf, next, transact, workspaceId }
})

const idsOf = (claimed: { readonly jobs: ReadonlyArray<DueJob> }) => claimed.jobs.map(({ id }) => id)

export const suite = (it: It) =>
  describe("CronFireRepo", () => {
    it.effect("claims what is due by its own clock, the longest due first, and nothing that is off", () =>
      Effect.gen(function* () {
        const { claim, fires, make } = yield* subject
        const later = yield* make({ nextFireAt: slot(2) })
        const first = yield* make({ nextFireAt: slot(1) })
        yield* make({ nextFireAt: null, isActive: false })
        const now = yield* fires.now
        yield* make({ nextFireAt: new Date(now.getTime() + hour) })
        const claimed = yield* claim()
        assert.deepStrictEqual(idsOf(claimed), [first.id, later.id])
        assert.isAtLeast(claimed.at.getTime(), now.getTime())
        assert.isBelow(claimed.at.getTime(), now.getTime() + hour)
        assert.deepStrictEqual(idsOf(yield* claim(1)), [first.id])
      })
    )

    it.effect("tells all that firing needs to know", () =>
      Effect.gen(function* () {
        const { claim, make, workspaceId } = yield* subject
        const agent = yield* makeAgent(workspaceId)
        const project = yield* makeProject(workspaceId)
        const given = { agentId: agent.id, projectId: project.id, prompt: unicode, timezone: "Asia/Tokyo" }
        const job = yield* make(given)
        const due = {
          ...given,
          id: job.id,
          workspaceId,
          schedule: job.schedule,
          slot: slot(),
          isBusy: false,
          agentIsActive: true
        }
        assert.deepStrictEqual((yield* claim()).jobs, [due])
        yield* (yield* AgentRepo).update(agent.id, { isActive: false }, at())
        assert.deepStrictEqual((yield* claim()).jobs, [{ ...due, agentIsActive: false }])
        yield* (yield* AgentRepo).remove(agent.id)
        assert.deepStrictEqual((yield* claim()).jobs, [{ ...due, agentId: null }])
      })
    )

    it.effect("knows whether a run of the job is active", () =>
      Effect.gen(function* () {
        const { claim, make, workspaceId } = yield* subject
        const runs = yield* RunRepo
        const job = yield* make()
        yield* makeRun(workspaceId)
        const isBusy = Effect.map(claim(), ({ jobs }) => jobs.map((due) => due.isBusy))
        assert.deepStrictEqual(yield* isBusy, [false])
        const run = yield* makeRun(workspaceId, { cronJobId: job.id })
        assert.deepStrictEqual(yield* isBusy, [true])
        yield* runs.cancel(run.id, at())
        assert.deepStrictEqual(yield* isBusy, [false])
        const waiting = yield* makeRun(workspaceId, { cronJobId: job.id, status: "WAITING_APPROVAL" })
        assert.deepStrictEqual(yield* isBusy, [true])
        yield* runs.cancel(waiting.id, at())
      })
    )

    it.effect("says how long until the earliest is due, and less than 0 once it is", () =>
      Effect.gen(function* () {
        const { fires, make } = yield* subject
        const until = Effect.map(fires.untilDue, Option.getOrThrow)
        const now = (yield* fires.now).getTime()
        const far = yield* make({ nextFireAt: new Date(now + hour) })
        const millis = yield* until
        assert.isAtMost(millis, hour)
        assert.isAbove(millis, hour - 60_000)
        yield* make()
        assert.isBelow(yield* until, -day)
        yield* (yield* CronJobRepo).remove(far.id)
      })
    )

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

    it.effect("lets nobody else change a claimed job, nor switch its agent off", () =>
      Effect.gen(function* () {
        const { fires, jobs, make, next, workspaceId } = yield* subject
        const agents = yield* AgentRepo
        const agent = yield* makeAgent(workspaceId)
        const job = yield* make({ agentId: agent.id })
        const claimed = Effect.map(fires.claim(10), ({ jobs }) =>
          jobs.map(({ agentIsActive, id, slot }) => ({ agentIsActive, id, slot }))
        )
        const due = [{ agentIsActive: true, id: job.id, slot: slot() }]
        for (const change of [
          agents.update(agent.id, { isActive: false }, at()),
          jobs.update(job.id, { nextFireAt: null }, at())
        ]) {
          yield* agents.update(agent.id, { isActive: true }, at())
          const seen = yield* readsWhileLocked(claimed, change)
          assert.deepStrictEqual(
            seen,
            seen.map(() => due)
          )
        }
        assert.isNull(yield* next(job))
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
