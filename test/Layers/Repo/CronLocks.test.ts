import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { planBacklog } from "../../../src/Schemas/CronFire.ts"
import { CronFireRepo } from "../../../src/Services/CronFireRepo.ts"
import { CronJobs } from "../../../src/Services/CronJobs.ts"
import { RemovalRepo } from "../../../src/Services/RemovalRepo.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { Scheduler } from "../../../src/Services/Scheduler.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { makeAgent } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { examined, makeCronNodes, makeDueJobs } from "./CronNodes.ts"

const fireDue = Effect.flatMap(Scheduler, (scheduler) => scheduler.fireDue)
const claimed = (limit: number) =>
  Effect.map(
    Effect.flatMap(CronFireRepo, (fires) => fires.claim(limit)),
    ({ jobs }) => jobs.map(({ id }) => id)
  )
const transact = <A, E, R>(work: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Transaction, (transaction) => transaction.atomically(work))

/** A deadlock is Unavailable to its victim: it fails these tests as an error. */
const suite = () => {
  it.live("a run that is asked for and a slot of the same job do not wait for each other", () =>
    Effect.gen(function* () {
      const { on, sql, user, workspaceId } = yield* makeCronNodes(2)
      const [id = assert.fail()] = yield* makeDueJobs(sql, workspaceId, 1, 0)
      const asked = Effect.gen(function* () {
        // A run that begins at once locks this before it is stored.
        yield* sql`select from run_slots where workspace_id = ${workspaceId} for update`
        const firing = yield* Effect.forkDetach(on(1, fireDue))
        yield* on(1, Postgres.untilWaiting(1))
        yield* (yield* Runs).createOfJob(user, id)
        return firing
      })
      const firing = yield* on(0, transact(asked))
      assert.strictEqual(yield* Fiber.join(firing), 1)
      assert.deepInclude(yield* examined(sql), { fired: 1, runs: 2 })
    })
  )

  it.live("a job is fired while a run of it is being stored, and missed slots of it", () =>
    Effect.gen(function* () {
      const { on, sql, user, workspaceId } = yield* makeCronNodes(2)
      const [id = assert.fail()] = yield* makeDueJobs(sql, workspaceId, 1, 100)
      yield* on(1, fireDue)
      yield* sql`update cron_jobs set next_fire_at = clock_timestamp()`
      const storing = Effect.gen(function* () {
        yield* (yield* Runs).createOfJob(user, id)
        const fires = yield* CronFireRepo
        const { at, backlog } = Option.getOrThrow(yield* fires.claimBacklog(1e10))
        yield* fires.recordMissed(backlog, { at, ...planBacklog(backlog, 10) })
        return yield* on(1, claimed(10))
      })
      assert.deepStrictEqual(yield* on(0, transact(storing)), [id])
    })
  )

  it.live("a job is removed while what it missed is being recorded", () =>
    Effect.gen(function* () {
      const { on, sql, user, workspaceId } = yield* makeCronNodes(2)
      const [id = assert.fail()] = yield* makeDueJobs(sql, workspaceId, 1, 100)
      yield* on(0, fireDue)
      const recording = Effect.gen(function* () {
        const fires = yield* CronFireRepo
        const { at, backlog } = Option.getOrThrow(yield* fires.claimBacklog(1e10))
        // It waits for nobody.
        yield* on(
          1,
          Effect.flatMap(CronJobs, (jobs) => jobs.remove(user, id))
        )
        yield* fires.recordMissed(backlog, { at, ...planBacklog(backlog, 10) })
      })
      yield* on(0, transact(recording))
      const advance = Effect.flatMap(RemovalRepo, (removals) =>
        removals.advance({ kind: "cronJob", id }, 1_000)
      )
      yield* on(0, Effect.repeat(advance, { while: (count) => count > 0 }))
      assert.deepInclude(yield* examined(sql), { slots: 0 })
      const [left] = yield* sql<{ count: number }>`select count(*)::int as count from cron_backlogs`
      assert.strictEqual(left?.count, 0)
    })
  )

  it.live("what a job missed is left alone while the job is being removed", () =>
    Effect.gen(function* () {
      const { on, sql, workspaceId } = yield* makeCronNodes(2)
      const [id] = yield* makeDueJobs(sql, workspaceId, 1, 100)
      yield* on(0, fireDue)
      const removing = Effect.gen(function* () {
        yield* sql`select from cron_jobs where id = ${id} for update`
        return yield* on(
          1,
          Effect.flatMap(Scheduler, (scheduler) => scheduler.recordMissed)
        )
      })
      assert.isFalse(yield* on(0, transact(removing)))
    })
  )

  it.live("many jobs of an agent that somebody is changing hold up no others", () =>
    Effect.gen(function* () {
      const { on, sql, workspaceId } = yield* makeCronNodes(2)
      const agents = [yield* on(0, makeAgent(workspaceId)), yield* on(0, makeAgent(workspaceId))]
      yield* makeDueJobs(sql, workspaceId, 25, 0)
      yield* sql`update cron_jobs set next_fire_at = next_fire_at - interval '1 minute',
        agent_id = case when length(id) % 2 = 0 then ${agents[0]?.id} else ${agents[1]?.id} end
        where id not in ('cron_3', 'cron_4')`
      const changing = Effect.gen(function* () {
        yield* sql`update agents set is_active = false`
        return yield* on(1, claimed(5))
      })
      assert.sameMembers(yield* on(0, transact(changing)), ["cron_3", "cron_4"])
      assert.strictEqual((yield* on(1, claimed(25))).length, 25)
    })
  )
}

if (Postgres.hasPostgres) describe("Locks of cron jobs", suite)
else describe.skip(Postgres.skipped("Locks of cron jobs"), suite)
