import { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"

/**
 * So many runs of two workspaces, newest last: what failed is all of one agent and newer than all that COMPLETED, and
 * what was CANCELLED older; so that whoever reads what it does not show reads very much.
 */
export const seedRuns = Effect.fnUntraced(function* (count: number) {
  const sql = yield* PgClient
  const literal = (value: number) => sql.literal(String(value))
  yield* sql`insert into users values ('user', 'u@example.org', now())`
  yield* sql`
    insert into workspaces select id, 'w', 'pro', now(), now() from unnest(array['ws_big', 'ws_small']) id`
  yield* sql`insert into projects select 'proj_' || n, 'ws_big', 'p', now() from generate_series(0, 9) n`
  yield* sql`
    insert into agents (id, workspace_id, name, is_active, created_at, updated_at)
    select 'agent_' || n, 'ws_big', 'a', true, now(), now() from generate_series(0, 999) n`
  yield* sql`
    insert into cron_jobs (id, workspace_id, agent_id, name, schedule, timezone, prompt, is_active, created_at, updated_at)
    select 'cron_' || n, 'ws_big', 'agent_1', 'j', '@daily', 'UTC', 'p', true, now(), now() from generate_series(0, 9) n`
  const indexes = yield* sql<{ name: string; definition: string }>`
    select indexname as name, indexdef as definition from pg_indexes
    where tablename = 'runs' and indexname <> 'runs_pkey'`
  // All at once they are made much faster.
  yield* sql`drop index ${sql.csv(indexes.map(({ name }) => sql`${sql(name)}`))}`
  // Else it may look through what was written while it is counted what others read.
  yield* sql`alter table runs set (autovacuum_enabled = false)`
  yield* sql.withTransaction(
    Effect.andThen(
      sql`set local session_replication_role = replica`,
      sql`
        insert into runs (id, workspace_id, project_id, agent_id, cron_job_id, status, prompt, autonomy_level, attempts,
          created_at, updated_at, finished_at, pruned)
        select 'run_' || lpad(n::text, 8, '0'),
          case when n % 50 = 0 then 'ws_small' else 'ws_big' end,
          case when n % 50 <> 0 and n % 5 = 0 then 'proj_' || n / 50 % 10 end,
          case when n % 50 = 0 then null when share > 0.7 then 'agent_0' when n % 2 = 0 then 'agent_1'
            else 'agent_' || 2 + n % 997 end,
          case when n % 50 <> 0 and share <= 0.7 and n % 2 = 0 then 'cron_' || n / 2 % 10 end,
          case when age < 100 then 'PENDING' when age < 120 then 'RUNNING' when share > 0.7 then 'FAILED'
            when n < 50 then 'CANCELLED' when n % 100 = 7 then 'WAITING_APPROVAL' else 'COMPLETED' end,
          'p', 'autonomous', 1, at, at, at, 2
        from (
          select n, ${literal(count)} - n as age, n::float8 / ${literal(count)} as share,
            now() - (${literal(count)} - n) * interval '1 second' as at
          from generate_series(1, ${literal(count)}) n) numbered`
    )
  )
  for (const { definition } of indexes) yield* sql.unsafe(definition)
  yield* sql`select recount_runs()`
  yield* sql`vacuum analyze`
})

/** So many of everything else in the big one of these workspaces, half as many messages in one conversation. */
export const seedOthers = Effect.fnUntraced(function* (count: number) {
  const sql = yield* PgClient
  const rows = sql.literal(
    `from (select n, now() - (${count} - n) * interval '1 second' as at from generate_series(1, ${count}) n) numbered`
  )
  const half = sql.literal(
    `from (select n, now() - (${count} - n) * interval '1 second' as at from generate_series(1, ${count / 2}) n) numbered`
  )
  yield* sql`
    insert into agents (id, workspace_id, name, is_active, created_at, updated_at)
    select 'agent_' || n, 'ws_big', 'a', true, at, at ${rows} on conflict do nothing`
  yield* sql`
    insert into cron_jobs (id, workspace_id, name, schedule, timezone, prompt, is_active, created_at, updated_at)
    select 'cron_' || n, 'ws_big', 'j', '@daily', 'UTC', 'p', false, at, at ${rows} on conflict do nothing`
  yield* sql`
    insert into connectors (id, workspace_id, status, granted_scopes, metadata, created_at, updated_at)
    select 'conn_' || n, 'ws_big', 'INACTIVE', '[]', '{}', at, at ${rows}`
  yield* sql`
    insert into memory_entries (id, workspace_id, key, value, category, created_at, updated_at)
    select 'mem_' || n, 'ws_big', 'k' || n, 'v', case when n > ${sql.literal(String(count - 5))} then 'rare' else 'general' end,
      at, at ${rows}`
  yield* sql`
    insert into conversations (id, workspace_id, title, owner_id, created_at, updated_at)
    select 'conv_' || n, 'ws_big', 't', 'user', at, at ${rows}`
  yield* sql`
    insert into messages (id, conversation_id, role, content, created_at)
    select 'msg_' || n, 'conv_1', 'USER', 'hello', at ${half}`
  yield* sql`
    insert into approvals (id, workspace_id, run_id, tool_call_id, tool, arguments, fingerprint, status, created_at, expires_at)
    select 'appr_' || row_number() over (), workspace_id, id, 'call', 'tool', '{}', 'f', 'PENDING', created_at, now()
    from runs where status = 'WAITING_APPROVAL'`
  yield* sql`
    insert into audit_entries (id, workspace_id, at, actor, action)
    select 'audit_' || n, 'ws_big', at, '{"system":"agentd"}', 'secret.use' ${rows}`
  yield* sql`insert into cron_fires select 'cron_3', at, at, 'missed', null ${rows}`
  yield* sql`vacuum analyze`
})
