import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { TestClock } from "effect/testing"
import { type Agent, AgentInactive } from "../../src/Schemas/Agent.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { Runs } from "../../src/Services/Runs.ts"
import { start as startExecutor } from "../support/Engine.ts"
import { makeAgent } from "../support/Fixtures.ts"
import { layerAtRest, makeTenant } from "../support/Service.ts"
import { makeSubject, setTime, start } from "./Schedulers.ts"

const minutely = { schedule: "* * * * *" }
const switchAgent = (agent: Pick<Agent, "id">, isActive: boolean) =>
  Effect.flatMap(AgentRepo, (agents) => agents.update(agent.id, { isActive }, new Date()))

describe("Scheduler", () => {
  it.effect("fires a job at its slot and not before, with a run like that of a task", () =>
    Effect.gen(function* () {
      const { ledger, make, nextOf, runsOf } = yield* makeSubject
      yield* start
      const job = yield* make({ prompt: "Sum up" })
      yield* TestClock.adjust("59 minutes")
      assert.deepStrictEqual(yield* ledger(job), [])
      yield* setTime("2026-11-20T09:00:00.000Z")
      assert.deepStrictEqual(yield* ledger(job), ["11-20T09:00:00 fired"])
      const [run, ...others] = yield* runsOf(job)
      assert.deepStrictEqual(others, [])
      assert.deepInclude(run, {
        status: "PENDING",
        prompt: "Sum up",
        cronJobId: job.id,
        autonomyLevel: "semi-autonomous",
        createdAt: new Date("2026-11-20T09:00:00.000Z")
      })
      assert.strictEqual(yield* nextOf(job), "2026-11-21T09:00:00.000Z")
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("has its runs executed", () =>
    Effect.gen(function* () {
      const { make, runsOf } = yield* makeSubject
      yield* start
      yield* startExecutor
      const job = yield* make({ ...minutely, prompt: "call current_time {}" })
      yield* TestClock.adjust("3 minutes")
      const statuses = Effect.map(runsOf(job), (runs) => runs.map(({ status }) => status))
      let seen = yield* statuses
      while (seen.includes("PENDING") || seen.includes("RUNNING")) {
        yield* TestClock.adjust(1)
        seen = yield* statuses
      }
      assert.deepStrictEqual(seen, ["COMPLETED", "COMPLETED", "COMPLETED"])
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("is woken by a job that is due sooner than all others", () =>
    Effect.gen(function* () {
      const { ledger, make } = yield* makeSubject
      yield* start
      yield* make({ schedule: "@yearly" })
      yield* TestClock.adjust("5 seconds")
      const soon = yield* make({ schedule: "*/10 * * * * *" })
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* ledger(soon), ["11-20T08:00:10 fired"])
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("skips a slot while a run of the job is active, and records the overlap", () =>
    Effect.gen(function* () {
      const { endRuns, ledger, make, runsOf } = yield* makeSubject
      yield* start
      const [job, other] = [yield* make(minutely), yield* make(minutely)]
      yield* TestClock.adjust("1 minute")
      yield* endRuns(other)
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(yield* ledger(job), [
        "11-20T08:03:00 overlap",
        "11-20T08:02:00 overlap",
        "11-20T08:01:00 fired"
      ])
      yield* endRuns(job)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual((yield* ledger(job))[0], "11-20T08:04:00 fired")
      assert.strictEqual((yield* runsOf(job)).length, 2)
      assert.deepStrictEqual((yield* ledger(other))[2], "11-20T08:02:00 fired")
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("skips a job whose agent is switched off, and goes on when it is on again", () =>
    Effect.gen(function* () {
      const { endRuns, ledger, make, runsOf, workspaceId } = yield* makeSubject
      yield* start
      const agent = yield* makeAgent(workspaceId)
      const job = yield* make({ ...minutely, agentId: agent.id })
      yield* TestClock.adjust("1 minute")
      yield* endRuns(job)
      yield* switchAgent(agent, false)
      yield* TestClock.adjust("1 minute")
      yield* switchAgent(agent, true)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* ledger(job), [
        "11-20T08:03:00 fired",
        "11-20T08:02:00 agent_inactive",
        "11-20T08:01:00 fired"
      ])
      assert.strictEqual((yield* runsOf(job)).length, 2)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("makes one run for the newest of the slots that it missed, and records the others", () =>
    Effect.gen(function* () {
      const { endRuns, ledger, make, runsOf } = yield* makeSubject
      const first = yield* start
      const job = yield* make(minutely)
      yield* TestClock.adjust("1 minute")
      yield* endRuns(job)
      yield* first.stop
      yield* TestClock.adjust("4 minutes")
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual((yield* ledger(job)).length, 1)
      yield* start
      assert.deepStrictEqual(yield* ledger(job), [
        "11-20T08:05:00 fired",
        "11-20T08:04:00 missed",
        "11-20T08:03:00 missed",
        "11-20T08:02:00 missed",
        "11-20T08:01:00 fired"
      ])
      assert.strictEqual((yield* runsOf(job)).length, 2)
      yield* endRuns(job)
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual((yield* ledger(job))[0], "11-20T08:06:00 fired")
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("runs the newest slot of a long downtime at once, and records the others in batches", () =>
    Effect.gen(function* () {
      const { endRuns, fires, make, runsOf } = yield* makeSubject
      const job = yield* make({ schedule: "* * * * * *" })
      const seconds = 2 * 3_600
      yield* TestClock.adjust(seconds * 1000)
      yield* start
      const all = () => fires.list({ cronJobId: job.id, limit: 10_000, offset: 0 })
      const newest = yield* all()
      assert.deepInclude(newest[0], { outcome: "fired", scheduledAt: new Date("2026-11-20T10:00:00.000Z") })
      assert.strictEqual((yield* runsOf(job)).length, 1)
      // A batch is a thousand; nothing waits for all of them.
      assert.isBelow(newest.length, 1_100)
      yield* endRuns(job)
      yield* TestClock.adjust("800 millis")
      const recorded = yield* all()
      const instants = new Set(recorded.map(({ scheduledAt }) => scheduledAt.getTime()))
      assert.deepStrictEqual([recorded.length, instants.size], [seconds, seconds])
      assert.strictEqual(recorded.filter(({ outcome }) => outcome === "missed").length, seconds - 1)
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("lets go of slots that are older than the ledger keeps", () =>
    Effect.gen(function* () {
      const { ledger, make } = yield* makeSubject
      yield* start
      const job = yield* make(minutely)
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual((yield* ledger(job)).at(-1)?.slice(0, 14), "11-20T08:01:00")
      yield* TestClock.adjust("1 hour")
      const left = yield* ledger(job)
      assert.isAtLeast(left.length, 30)
      assert.isAtMost(left.length, 32)
    }).pipe(Effect.provide(layerAtRest({ cronLedgerMillis: 30 * 60_000 })))
  )

  it.effect("runs a job now when it is asked to, also one that is off or busy, and records no slot", () =>
    Effect.gen(function* () {
      const { jobs, ledger, make, nextOf, runsOf, user, workspaceId } = yield* makeSubject
      const runs = yield* Runs
      yield* start
      const agent = yield* makeAgent(workspaceId)
      const job = yield* make({ ...minutely, agentId: agent.id, prompt: "Sum up" })
      const run = yield* runs.createOfJob(user, job.id)
      assert.deepInclude(run, { status: "PENDING", prompt: "Sum up", workspaceId })
      assert.deepStrictEqual(yield* ledger(job), [])
      yield* runs.createOfJob(user, job.id)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* ledger(job), ["11-20T08:01:00 overlap"])
      yield* jobs.update(user, job.id, { isActive: false })
      yield* runs.createOfJob(user, job.id)
      assert.isNull(yield* nextOf(job))
      const made = yield* runsOf(job)
      assert.deepStrictEqual(
        made.map(({ agentId }) => agentId),
        [agent.id, agent.id, agent.id]
      )
      yield* switchAgent(agent, false)
      assert.instanceOf(yield* Effect.flip(runs.createOfJob(user, job.id)), AgentInactive)
      const { user: stranger } = yield* makeTenant()
      assert.strictEqual((yield* Effect.flip(runs.createOfJob(stranger, job.id)))._tag, "NotFound")
    }).pipe(Effect.provide(layerAtRest()))
  )
})
