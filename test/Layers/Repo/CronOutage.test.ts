import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Scheduler } from "../../../src/Services/Scheduler.ts"
import { freezingProxy } from "../../support/FreezingProxy.ts"
import * as Postgres from "../../support/Postgres.ts"
import { examined, isOver, makeCronNodes, makeDueJobs } from "./CronNodes.ts"

const fireDue = Effect.flatMap(Scheduler, (scheduler) => scheduler.fireDue)
const recordMissed = Effect.flatMap(Scheduler, (scheduler) => scheduler.recordMissed)

const suite = () =>
  it.live(
    "a database that was away across slots: the newest fires when it is back, the others were missed",
    () =>
      Effect.gen(function* () {
        const direct = yield* Postgres.migratedDatabase
        const address = new URL(direct)
        const proxy = yield* freezingProxy(Number(address.port))
        address.port = String(proxy.port)
        const { on, workspaceId } = yield* makeCronNodes(1, address.href)
        const hasty = yield* makeCronNodes(1, address.href, { databaseTimeoutMillis: 500 })
        const { sql } = yield* makeCronNodes(1, direct)
        yield* makeDueJobs(sql, workspaceId, 20, 0)
        assert.strictEqual(yield* on(0, fireDue), 20)
        yield* sql`update runs set status = 'CANCELLED', finished_at = now()`
        const before = yield* examined(sql)

        yield* proxy.freeze
        const [frozen] = yield* sql<{ at: Date }>`select clock_timestamp() as at`
        while (!(yield* isOver(sql, frozen?.at ?? assert.fail(), 3_200))) {
          assert.strictEqual((yield* Effect.flip(hasty.on(0, fireDue)))._tag, "Unavailable")
        }
        assert.deepStrictEqual(yield* examined(sql), before)

        yield* proxy.thaw
        // What others had sent before may hold some for a moment; each fires once, as its run is not over.
        while ((yield* examined(sql)).fired < before.fired + 20) yield* on(0, fireDue)
        yield* on(0, Effect.repeat(recordMissed, { while: (more) => more }))
        const after = yield* examined(sql)
        assert.deepInclude(after, { jobs: 20, holes: 0, strays: 0, fired: before.fired + 20 })
        const [missed] = yield* sql<{ least: number }>`
        select min(count)::int as least from (
          select count(*) from cron_fires where outcome = 'missed' group by cron_job_id) each`
        assert.isAtLeast(missed?.least ?? 0, 2)
      })
  )

if (Postgres.hasPostgres) describe("Cron jobs on PostgreSQL", suite)
else describe.skip(Postgres.skipped("Cron jobs on PostgreSQL"), suite)
