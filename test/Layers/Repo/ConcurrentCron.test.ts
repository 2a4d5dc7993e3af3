import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Agents } from "../../../src/Services/Agents.ts"
import { CronFireRepo } from "../../../src/Services/CronFireRepo.ts"
import { CronJobRepo } from "../../../src/Services/CronJobRepo.ts"
import { CronJobs } from "../../../src/Services/CronJobs.ts"
import { Scheduler } from "../../../src/Services/Scheduler.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { makeAgent } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { examined, isOver, makeCronNodes, makeDueJobs } from "./CronNodes.ts"

const fireDue = Effect.flatMap(Scheduler, (scheduler) => scheduler.fireDue)
const recordMissed = Effect.flatMap(Scheduler, (scheduler) => scheduler.recordMissed)
const recordAllMissed = Effect.repeat(recordMissed, { while: (more) => more })
const allAtOnce = { concurrency: "unbounded" } as const
const three = [0, 1, 2]

/** A deadlock is Unavailable to its victim: it fails these tests as an error. */
const suite = () => {
  it.live("three schedulers handle each slot once, and make a run for each that fired", () =>
    Effect.gen(function* () {
      const { on, sql, workspaceId } = yield* makeCronNodes(3)
      yield* makeDueJobs(sql, workspaceId, 450, 0)
      const twice = Effect.map(
        sql`select from cron_fires where outcome = 'fired' group by cron_job_id having count(*) >= 2`,
        ({ length }) => length
      )
      while ((yield* twice) < 450) {
        yield* Effect.forEach([...three, ...three], (node) => on(node, fireDue), allAtOnce)
        // Every slot is to make a run: what was made is over before the next.
        yield* sql`update runs set status = 'CANCELLED', finished_at = now() where status = 'PENDING'`
      }
      // Slots that came while the machine was slower than they.
      yield* on(0, recordAllMissed)
      const found = yield* examined(sql)
      assert.deepInclude(found, { jobs: 450, holes: 0, strays: 0 })
      assert.strictEqual(found.runs, found.fired)
      const [slots] = yield* sql<{ wrong: number }>`
        select count(*)::int as wrong from run_slots s where kind = 'task' and queued <> (
          select count(*) from runs r where r.workspace_id = s.workspace_id and r.status = 'PENDING')`
      assert.strictEqual(slots?.wrong, 0)
    })
  )

  it.live("what was missed is recorded by all of them together, once", () =>
    Effect.gen(function* () {
      const { on, sql, workspaceId } = yield* makeCronNodes(3)
      yield* makeDueJobs(sql, workspaceId, 3, 4_000)
      yield* Effect.forEach(three, (node) => on(node, fireDue), allAtOnce)
      const before = yield* examined(sql)
      assert.isBelow(before.slots, 100)
      assert.deepInclude(before, { fired: 3, runs: 3, strays: 0 })
      yield* Effect.forEach(three, (node) => on(node, recordAllMissed), allAtOnce)
      yield* on(0, recordAllMissed)
      const after = yield* examined(sql)
      assert.deepInclude(after, { jobs: 3, holes: 0, fired: 3, runs: 3, strays: 0 })
      assert.isAtLeast(after.slots, 3 * 4_000)
      const [left] = yield* sql<{ count: number }>`select count(*)::int as count from cron_backlogs`
      assert.strictEqual(left?.count, 0)
    })
  )

  it.live("a job that somebody is changing is left out, and stays due", () =>
    Effect.gen(function* () {
      const { on, sql, workspaceId } = yield* makeCronNodes(2)
      const [changing = assert.fail(), other] = yield* makeDueJobs(sql, workspaceId, 2, 0)
      const claimed = Effect.map(
        Effect.flatMap(CronFireRepo, (fires) => fires.claim(10)),
        ({ jobs }) => jobs.map(({ id }) => id)
      )
      const seen = yield* on(
        0,
        Effect.gen(function* () {
          const repo = yield* CronJobRepo
          return yield* (yield* Transaction).atomically(Effect.andThen(repo.lock(changing), on(1, claimed)))
        })
      )
      assert.deepStrictEqual(seen, [other])
      assert.sameMembers(yield* on(1, claimed), [changing, other ?? assert.fail()])
    })
  )

  it.live("a job whose agent somebody is changing is left out: nobody waits for the other for ever", () =>
    Effect.gen(function* () {
      const { on, sql, user, workspaceId } = yield* makeCronNodes(2)
      const agent = yield* on(0, makeAgent(workspaceId))
      const [id] = yield* makeDueJobs(sql, workspaceId, 1, 0)
      yield* sql`update cron_jobs set agent_id = ${agent.id}`
      const seen = yield* on(
        0,
        Effect.gen(function* () {
          const transaction = yield* Transaction
          return yield* transaction.atomically(
            Effect.andThen(sql`update agents set is_active = false where id = ${agent.id}`, on(1, fireDue))
          )
        })
      )
      assert.strictEqual(seen, 0)
      assert.strictEqual(yield* on(1, fireDue), 1)
      const [fire] = yield* on(
        0,
        Effect.flatMap(CronFireRepo, (fires) =>
          fires.list({ cronJobId: id ?? assert.fail(), limit: 1, offset: 0 })
        )
      )
      assert.strictEqual(fire?.outcome, "agent_inactive")
      yield* Effect.forEach(
        three,
        (n) =>
          n === 0
            ? on(
                0,
                Effect.flatMap(Agents, (agents) => agents.remove(user, agent.id))
              )
            : on(n, Effect.replicateEffect(fireDue, 5)),
        allAtOnce
      )
    })
  )

  it.live("after the answer to a PATCH nothing fires by what the job was before", () =>
    Effect.gen(function* () {
      const { on, sql, user, workspaceId } = yield* makeCronNodes(3)
      const ids = yield* makeDueJobs(sql, workspaceId, 60, 0)
      let going = true
      const firing = Effect.forEach(
        three,
        (node) =>
          on(
            node,
            Effect.gen(function* () {
              while (going) yield* fireDue
            })
          ),
        allAtOnce
      )
      const patching = Effect.gen(function* () {
        while ((yield* examined(sql)).slots < ids.length);
        const patched = yield* Effect.forEach(ids, (id, n) =>
          on(
            n,
            Effect.gen(function* () {
              const patch = n % 2 === 0 ? { isActive: false } : { prompt: "new", schedule: "@yearly" }
              yield* (yield* CronJobs).update(user, id, patch)
              return { id, at: yield* (yield* CronFireRepo).now }
            })
          )
        )
        // Two slots of what the jobs were before pass by.
        while (!(yield* isOver(sql, patched.at(-1)?.at ?? assert.fail(), 2_000)));
        going = false
        return patched
      })
      const [patched] = yield* Effect.all([patching, firing], allAtOnce)
      const late = []
      for (const { at, id } of patched) {
        const rows = yield* sql`
          select f.scheduled_at from cron_fires f where f.cron_job_id = ${id} and f.fired_at > ${at}`
        late.push(...rows)
      }
      assert.deepStrictEqual(late, [])
      yield* on(0, recordAllMissed)
      const found = yield* examined(sql)
      assert.deepInclude(found, { holes: 0, strays: 0 })
      assert.isAtLeast(found.slots, 60)
    })
  )

  it.live("the clock of the database decides, however wrong that of the process is", () =>
    Effect.gen(function* () {
      const { on, sql, user, workspaceId } = yield* makeCronNodes(1)
      for (const days of [-20_000, 30]) {
        yield* sql`delete from cron_jobs`
        yield* Effect.gen(function* () {
          const wrong = yield* Clock.currentTimeMillis
          assert.closeTo(wrong, Date.now() + days * dayMillis, 60_000)
          yield* makeDueJobs(sql, workspaceId, 1, 0)
          assert.strictEqual(yield* on(0, fireDue), 1)
          yield* sql`update cron_jobs set next_fire_at = now() + interval '1 hour'`
          assert.strictEqual(yield* on(0, fireDue), 0)
          const until = yield* on(
            0,
            Effect.flatMap(CronFireRepo, (fires) => fires.untilDue)
          )
          assert.closeTo(Option.getOrThrow(until).millis, 3_600_000, 60_000)
          const given = { workspaceId, name: "n", schedule: "0 0 * * *", prompt: "p" }
          const job = yield* on(
            0,
            Effect.flatMap(CronJobs, (jobs) => jobs.create(user, given))
          )
          const off = { isActive: false }
          yield* on(
            0,
            Effect.flatMap(CronJobs, (jobs) => jobs.update(user, job.id, off))
          )
          yield* on(
            0,
            Effect.flatMap(CronJobs, (jobs) => jobs.update(user, job.id, { isActive: true }))
          )
          const [row] = yield* sql<{ wait: number }>`
            select extract(epoch from next_fire_at - clock_timestamp())::float8 as wait
            from cron_jobs where id = ${job.id}`
          assert.isAtMost(row?.wait ?? Number.NaN, 86_400)
          assert.isAtLeast(row?.wait ?? Number.NaN, -60)
        }).pipe(Effect.updateService(Clock.Clock, (clock) => shifted(clock, days * dayMillis)))
      }
    })
  )
}

const dayMillis = 86_400_000

/** A clock that is wrong by so much. */
const shifted = (clock: Clock.Clock, millis: number): Clock.Clock => ({
  currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + millis,
  currentTimeMillis: Effect.map(clock.currentTimeMillis, (at) => at + millis),
  currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe() + BigInt(millis) * 1_000_000n,
  currentTimeNanos: Effect.map(clock.currentTimeNanos, (at) => at + BigInt(millis) * 1_000_000n),
  monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
  monotonicTimeNanos: clock.monotonicTimeNanos,
  sleep: (duration) => clock.sleep(duration)
})

if (Postgres.hasPostgres) describe("Cron jobs on several nodes", suite)
else describe.skip(Postgres.skipped("Cron jobs on several nodes"), suite)
