import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { CronJobId } from "../../../src/Schemas/Ids.ts"
import { CronFireRepo } from "../../../src/Services/CronFireRepo.ts"
import { CronJobs } from "../../../src/Services/CronJobs.ts"
import { Scheduler } from "../../../src/Services/Scheduler.ts"
import * as Postgres from "../../support/Postgres.ts"
import { makeCronNodes } from "./CronNodes.ts"

const backfillDue = Effect.flatMap(Scheduler, (scheduler) => scheduler.backfillDue)
const allAtOnce = { concurrency: "unbounded" } as const
const three = [0, 1, 2]
const slots = 12

interface Found {
  readonly backfilled: number
  readonly runs: number
  readonly strays: number
  readonly unordered: number
  readonly beside: number
  readonly waiting: number
}

/** A deadlock is Unavailable to its victim: it fails this test as an error. */
const suite = () => {
  it.live("three nodes that are asked at once make up each slot once, in order, one after the other", () =>
    Effect.gen(function* () {
      const { on, sql, user, workspaceId } = yield* makeCronNodes(3)
      const jobs = Array.from({ length: 8 }, (_, n) => `cron_${n}` as CronJobId)
      yield* sql`
        insert into cron_jobs (id, workspace_id, name, schedule, timezone, prompt, is_active, created_at, updated_at)
        select 'cron_' || n, ${workspaceId}, 'j', '@hourly', 'UTC', 'p', false, now(), now()
        from generate_series(0, ${jobs.length - 1}::int) n`
      const to = yield* on(
        0,
        Effect.flatMap(CronFireRepo, (fires) => fires.now)
      )
      const from = new Date(to.getTime() - slots * 3_600_000)
      let queued = 0
      const ask = Effect.forEach(
        three.flatMap((node) => jobs.map((id) => ({ node, id }))),
        ({ id, node }) =>
          on(
            node,
            Effect.flatMap(CronJobs, (service) => service.backfill(user, id, { from, to, only: "all" }))
          ).pipe(
            Effect.tap((answer) =>
              Effect.sync(() => {
                queued += answer.slots
              })
            )
          ),
        allAtOnce
      )
      let going = true
      const work = Effect.forEach(
        three,
        (node) =>
          Effect.gen(function* () {
            while (going) yield* on(node, backfillDue)
          }),
        allAtOnce
      )
      const end = Effect.gen(function* () {
        const waits = sql<{ count: number }>`
          select (select count(*) from cron_backfills)::int + (select count(*) from runs where status = 'PENDING')::int as count`
        while (queued < jobs.length * slots || ((yield* waits)[0]?.count ?? 0) > 0) {
          yield* sql`
            update runs set status = (array['FAILED', 'COMPLETED'])[1 + (random() < 0.5)::int],
              finished_at = clock_timestamp() where status = 'PENDING'`
        }
        going = false
      })
      yield* Effect.all([ask, work, end], allAtOnce)
      yield* ask
      assert.strictEqual(queued, jobs.length * slots)
      const [found] = yield* sql<Found>`
        with made as (
          select f.*, r.created_at, r.finished_at, lag(f.scheduled_at) over o as before, lag(r.finished_at) over o as over
          from cron_fires f join runs r on r.id = f.run_id
          window o as (partition by f.cron_job_id order by f.fired_at))
        select (select count(*)::int from cron_fires where is_backfilled) as backfilled,
          (select count(*)::int from runs) as runs,
          (select count(*)::int from cron_fires where run_id is null) as strays,
          (select count(*)::int from made where before > scheduled_at) as unordered,
          (select count(*)::int from made where over > created_at) as beside,
          (select count(*)::int from cron_jobs where backfill_at is not null) as waiting`
      assert.deepStrictEqual(found, {
        backfilled: jobs.length * slots,
        runs: jobs.length * slots,
        strays: 0,
        unordered: 0,
        beside: 0,
        waiting: 0
      })
    })
  )

  it.live("a job with slots that wait is looked at when a run of it is over, and no other job", () =>
    Effect.gen(function* () {
      const { on, sql, user, workspaceId } = yield* makeCronNodes(1)
      const given = { workspaceId, name: "n", schedule: "@hourly", prompt: "p" }
      const service = yield* on(0, CronJobs)
      const [job, other] = [
        yield* on(0, service.create(user, given)),
        yield* on(0, service.create(user, given))
      ]
      const to = yield* on(
        0,
        Effect.flatMap(CronFireRepo, (fires) => fires.now)
      )
      const range = { from: new Date(to.getTime() - 3 * 3_600_000), to, only: "all" } as const
      yield* on(0, service.backfill(user, job.id, range))
      assert.strictEqual(yield* on(0, backfillDue), 1)
      assert.strictEqual(yield* on(0, backfillDue), 0)
      const end = (id: CronJobId) =>
        sql`update runs set status = 'COMPLETED', finished_at = now() where cron_job_id = ${id} and status = 'PENDING'`
      const looks = Effect.map(
        sql<{ id: CronJobId }>`select id from cron_jobs where backfill_at <= clock_timestamp()`,
        (rows) => rows.map(({ id }) => id)
      )
      yield* sql`
        insert into runs (id, workspace_id, cron_job_id, status, prompt, autonomy_level, attempts, created_at, updated_at)
        values ('run_other', ${workspaceId}, ${other.id}, 'PENDING', 'p', 'supervised', 0, now(), now())`
      yield* end(other.id)
      assert.deepStrictEqual(yield* looks, [])
      yield* end(job.id)
      assert.deepStrictEqual(yield* looks, [job.id])
    })
  )
}

if (Postgres.hasPostgres) describe("Slots that are made up on several nodes", suite)
else describe.skip(Postgres.skipped("Slots that are made up on several nodes"), suite)
