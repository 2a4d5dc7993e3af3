import { PgClient } from "@effect/sql-pg/PgClient"
import { assert } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Application from "../../../src/Layers/Application.ts"
import * as Fires from "../../../src/Layers/Scheduler/Fires.ts"
import * as Ring from "../../../src/Layers/SecretBox/Ring.ts"
import type { CronJobId, WorkspaceId } from "../../../src/Schemas/Ids.ts"
import type { SettingsShape } from "../../../src/Services/Settings.ts"
import { layerNode } from "../../support/Backends.ts"
import * as Postgres from "../../support/Postgres.ts"
import { makeTenant } from "../../support/Service.ts"

const layerSecretBox = Ring.layer({ current: Buffer.alloc(Ring.keyBytes, 7).toString("base64"), former: [] })

const layerOne = (url: string, settings: Partial<SettingsShape>) =>
  Layer.fresh(
    Layer.merge(Application.layer, Fires.layer).pipe(
      Layer.provideMerge(Application.layer),
      Layer.provideMerge(layerSecretBox),
      Layer.provideMerge(layerNode(Postgres.client(url), settings))
    )
  )

/** Several nodes on one database, a new one if none is given, each with a scheduler of its own, and a tenant. */
export const makeCronNodes = Effect.fnUntraced(function* (
  count: number,
  given?: string,
  settings: Partial<SettingsShape> = {}
) {
  const url = given ?? (yield* Postgres.migratedDatabase)
  const first = yield* Layer.build(layerOne(url, settings))
  const nodes = [first]
  for (let n = 1; n < count; n++) nodes.push(yield* Layer.build(layerOne(url, settings)))
  type Services = typeof first extends Context.Context<infer S> ? S : never
  /** On one of the nodes, by its number. */
  const on = <A, E, R>(node: number, effect: Effect.Effect<A, E, R>) =>
    Effect.provideContext(effect, nodes[node % count] ?? first) as Effect.Effect<A, E, Exclude<R, Services>>
  const { user, workspaceId } = yield* on(0, makeTenant())
  const sql = Context.get(first, PgClient)
  return { on, sql, user, workspaceId }
})

/** Jobs that were due `late` seconds ago, of a schedule of every second. */
export const makeDueJobs = Effect.fnUntraced(function* (
  sql: PgClient,
  workspaceId: WorkspaceId,
  count: number,
  late: number
) {
  yield* sql`
    insert into cron_jobs (id, workspace_id, name, schedule, timezone, prompt, is_active, next_fire_at,
      created_at, updated_at)
    select 'cron_' || n, ${workspaceId}, 'j', '* * * * * *', 'UTC', 'p', true,
      date_trunc('second', clock_timestamp()) - ${late}::int * interval '1 second', now(), now()
    from generate_series(1, ${count}::int) n`
  return Array.from({ length: count }, (_, n) => `cron_${n + 1}` as CronJobId)
})

interface Examined {
  readonly jobs: number
  readonly slots: number
  /** Seconds between the first and the last slot of a job, with both, that have no entry. */
  readonly holes: number
  readonly fired: number
  readonly runs: number
  /** Runs without a slot, and slots with a run that is not there. */
  readonly strays: number
}

/** What the ledger and the runs of jobs of every second say of each other. */
export const examined = (sql: PgClient) =>
  Effect.flatMap(
    sql<Examined>`
      with each as (
        select cron_job_id, count(*) as slots,
          extract(epoch from max(scheduled_at) - min(scheduled_at))::int + 1 as seconds
        from cron_fires group by cron_job_id)
      select (select count(*)::int from each) as jobs,
        (select coalesce(sum(slots), 0)::int from each) as slots,
        (select coalesce(sum(seconds - slots), 0)::int from each) as holes,
        (select count(*)::int from cron_fires where outcome = 'fired') as fired,
        (select count(*)::int from runs where cron_job_id is not null) as runs,
        (select count(*)::int from runs r full join cron_fires f on f.run_id = r.id
          where (r.cron_job_id is not null and f.run_id is null) or (f.run_id is not null and r.id is null)
            or (f.outcome = 'fired') <> (f.run_id is not null)) as strays`,
    ([row]) => Effect.sync(() => row ?? assert.fail("no row"))
  )

/** Whether so much time has passed for the database, which alone has a clock here. */
export const isOver = (sql: PgClient, since: Date, millis: number) =>
  Effect.map(
    sql<{ over: boolean }>`
      select clock_timestamp() > ${since}::timestamptz + ${millis}::int * interval '1 millisecond' as over`,
    ([row]) => row?.over === true
  )
