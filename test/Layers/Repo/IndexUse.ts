import { PgClient } from "@effect/sql-pg/PgClient"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { type Backend, layerNode } from "../../support/Backends.ts"
import * as Postgres from "../../support/Postgres.ts"

/**
 * 100 workspaces and users, and 50 of everything in each, beside 5,000 of both that have nothing; of 5,000 runs, 100 are unfinished; each has a step and
 * an approval, of which 10 are waited for.
 */
const seed = Effect.gen(function* () {
  const sql = yield* PgClient
  const rows = sql.literal(
    `from (select n, 'ws_' || n % 100 as ws, 'proj_' || n % 100 as proj,
      now() - n * interval '1 minute' as at from generate_series(0, 4999) n) s`
  )
  yield* sql`insert into users values ('user', 'u@example.org', now())`
  yield* sql`insert into workspaces select 'ws_' || n, 'w', 'free', now(), now() from generate_series(0, 99) n`
  yield* sql`insert into projects select 'proj_' || n, 'ws_' || n, 'p', now() from generate_series(0, 99) n`
  yield* sql`
    insert into agents select 'agent_' || n, ws, proj, 'a', null, null, true, null, at, at ${rows}`
  yield* sql`
    insert into conversations select 'conv_' || n, ws, proj, 't', 'agent_' || n, 'user', at, at ${rows}`
  yield* sql`
    insert into messages (id, conversation_id, role, content, created_at)
    select 'msg_' || n, 'conv_' || n, 'USER', 'hello', at ${rows}`
  yield* sql`
    insert into runs (id, workspace_id, project_id, status, prompt, autonomy_level, attempts, created_at,
      updated_at)
    select 'run_' || n, ws, proj, case when n % 50 = 0 then 'PENDING' else 'COMPLETED' end, 'p',
      'supervised', 0, at, at ${rows}`
  yield* sql`
    insert into run_steps (run_id, index, step) select 'run_' || n, 0, '{}' ${rows}`
  yield* sql`
    insert into memory_entries select 'mem_' || n, ws, proj, 'k' || n, 'v', 'general', at, at ${rows}`
  yield* sql`
    insert into users select 'user_' || n, 'u' || n || '@example.org', now() from generate_series(0, 99) n`
  yield* sql`
    insert into tokens select 'token_' || n, 'user_' || n % 100, 't', 'h' || n, at, null, null ${rows}`
  yield* sql`
    insert into workspace_members select ws, 'user_' || n / 50, 'member', at ${rows} on conflict do nothing`
  yield* sql`insert into projects select 'other_' || n, ws, 'p', at ${rows}`
  yield* sql`insert into provider_keys select 'pkey_' || n, ws, 'k', 'openai', 'm', at, null, null ${rows}`
  yield* sql`
    insert into cron_jobs select 'cron_' || n, ws, proj, 'agent_' || n, 'c', null, '@daily', 'UTC', 'p', true,
      at, at, at ${rows}`
  yield* sql`
    insert into connectors select 'conn_' || n, ws, proj, 'mcp', null, null,
      case when n % 500 = 7 then 'ACTIVE' else 'INACTIVE' end, '[]', '{}', null, at, at ${rows}`
  yield* sql`
    insert into cron_fires select 'cron_' || n % 100, at, at, 'missed', null ${rows}`
  yield* sql`insert into cron_backfills select 'cron_' || n % 100, at ${rows}`
  yield* sql`
    update runs set agent_id = 'agent' || substr(id, 4), cron_job_id = 'cron' || substr(id, 4),
      provider_key_id = 'pkey' || substr(id, 4)`
  yield* sql`update agents set provider_key_id = 'pkey' || substr(id, 6)`
  yield* sql`update provider_keys set sealed_api_key = 's'`
  yield* sql`
    update connectors set sealed_credential = 's', metadata = '{"headers":"s"}'`
  yield* sql`
    insert into connector_health (connector_id, checked_at) select id, now() from connectors`
  yield* sql`
    insert into approvals select 'appr_' || n, ws, 'run_' || n, 'call', 'tool', '{}', 'f',
      case when n % 500 = 0 then 'PENDING' else 'APPROVED' end, null, null, null, at, now() + interval '1 day' ${rows}`
  yield* sql`insert into users select 'visitor_' || n, 'v' || n || '@example.org', at ${rows}`
  yield* sql`insert into workspaces select 'ws_of_visitor_' || n, 'w', 'free', at, at ${rows}`
  yield* sql`
    insert into workspace_invitations select ws, 'v' || n || '@example.org', 'user_i' || n, 'member', at ${rows}`
  yield* sql`update cron_jobs set created_by = 'user_' || substr(id, 6)::int % 100`
  yield* sql`vacuum analyze`
})

const counters = Effect.gen(function* () {
  const sql = yield* PgClient
  // The server counts when it is idle, and at most once a second unless it is told to.
  yield* sql`select pg_stat_force_next_flush()`
  const tables = yield* sql<{ name: string; scans: number }>`
    select relname as name, seq_scan::int as scans from pg_stat_user_tables`
  const indexes = yield* sql<{ name: string; scans: number }>`
    select indexrelname as name, idx_scan::int as scans from pg_stat_user_indexes`
  return new Map([...tables, ...indexes].map(({ name, scans }) => [name, scans]))
})

/**
 * What the statements of the repository themselves do, by the counters of the server: an EXPLAIN would
 * need a copy of each statement, which could differ from it.
 */
const scans = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const before = yield* counters
  yield* effect
  const after = yield* counters
  return (name: string) => (after.get(name) ?? Number.NaN) - (before.get(name) ?? Number.NaN)
})

const blocksFetched = Effect.gen(function* () {
  const sql = yield* PgClient
  const [row] = yield* sql<{ blocks: number }>`
    select coalesce(sum(pg_stat_get_xact_blocks_fetched(oid)), 0)::int as blocks
    from pg_class where relkind in ('r', 'i', 't') and relnamespace = current_schema()::regnamespace`
  return row?.blocks ?? Number.NaN
})

/** What a call reads of the tables of the service, triggers included, in blocks of 8 KiB. */
export const blocksRead = Effect.fnUntraced(function* <A, E, R>(call: Effect.Effect<A, E, R>) {
  const transaction = yield* Transaction
  return yield* transaction.atomically(
    Effect.gen(function* () {
      const before = yield* blocksFetched
      const value = yield* call
      return { value, blocks: (yield* blocksFetched) - before }
    })
  )
})

export interface IndexUse {
  readonly table: string
  /** Where several would do, the planner may choose. */
  readonly index?: string | undefined
  readonly call: Effect.Effect<unknown, unknown, Backend>
}

/** Fails if the call reads a whole table, or does not read the index. */
export const indexUse = Effect.fnUntraced(function* ({ call, index, table }: IndexUse) {
  const of = yield* scans(call)
  if (index !== undefined) assert.isAtLeast(of(index), 1, `no scan of ${index}`)
  assert.strictEqual(of(table), 0, `a scan of all ${table}`)
})

// On one connection, so that its counters are complete when the next statement reads them.
const node = Layer.unwrap(
  Effect.map(Postgres.migratedDatabase, (url) => layerNode(Postgres.client(url, { maxConnections: 1 })))
)
export const seeded = Layer.provideMerge(Layer.effectDiscard(seed), node)
