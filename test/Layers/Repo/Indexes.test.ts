import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type {
  AgentId,
  CronJobId,
  ProjectId,
  ProviderKeyId,
  UserId,
  WorkspaceId
} from "../../../src/Schemas/Ids.ts"
import { AgentRepo } from "../../../src/Services/AgentRepo.ts"
import { ConnectorRepo } from "../../../src/Services/ConnectorRepo.ts"
import { ConversationRepo } from "../../../src/Services/ConversationRepo.ts"
import { CronJobRepo } from "../../../src/Services/CronJobRepo.ts"
import { MemoryRepo } from "../../../src/Services/MemoryRepo.ts"
import { ProjectRepo } from "../../../src/Services/ProjectRepo.ts"
import { ProviderKeyRepo } from "../../../src/Services/ProviderKeyRepo.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { TokenRepo } from "../../../src/Services/TokenRepo.ts"
import { WorkspaceRepo } from "../../../src/Services/WorkspaceRepo.ts"
import { type Backend, layerNode } from "../../support/Backends.ts"
import * as Postgres from "../../support/Postgres.ts"

const workspaceId = "ws_7" as WorkspaceId
const projectId = "proj_7" as ProjectId
const userId = "user_7" as UserId

/** 100 workspaces and users, and 50 of everything in each; of 5,000 runs, 100 are unfinished. */
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
    update runs set agent_id = 'agent' || substr(id, 4), cron_job_id = 'cron' || substr(id, 4),
      provider_key_id = 'pkey' || substr(id, 4)`
  yield* sql`update agents set provider_key_id = 'pkey' || substr(id, 6)`
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

const pages = { limit: 20, offset: 0 }

// On one connection, so that its counters are complete when the next statement reads them.
const node = Layer.unwrap(
  Effect.map(Postgres.migratedDatabase, (url) => layerNode(Postgres.client(url, { maxConnections: 1 })))
)
const seeded = Layer.provideMerge(Layer.effectDiscard(seed), node)

const suite = () =>
  layer(seeded, { excludeTestServices: true, timeout: "1 minute" })((it) => {
    it.effect.each<{
      readonly what: string
      readonly table: string
      /** Where several would do, the planner may choose. */
      readonly index?: string
      readonly call: Effect.Effect<unknown, unknown, Backend>
    }>([
      {
        what: "the list of agents",
        table: "agents",
        index: "agents_of_workspace",
        call: Effect.flatMap(AgentRepo, (agents) => agents.list({ workspaceId }))
      },
      {
        what: "the list of the agents of a project",
        table: "agents",
        index: "agents_of_workspace",
        call: Effect.flatMap(AgentRepo, (agents) => agents.list({ workspaceId, projectId }))
      },
      {
        what: "the list of conversations",
        table: "conversations",
        index: "conversations_of_workspace",
        call: Effect.flatMap(ConversationRepo, (repo) => repo.list({ workspaceId, ...pages }))
      },
      {
        what: "the last messages of the list of conversations",
        table: "messages",
        index: "messages_of_conversation",
        call: Effect.flatMap(ConversationRepo, (repo) => repo.list({ workspaceId, projectId, ...pages }))
      },
      {
        what: "the list of runs",
        table: "runs",
        index: "runs_of_workspace",
        call: Effect.flatMap(RunRepo, (runs) => runs.list({ workspaceId, ...pages }))
      },
      {
        what: "the list of the failed runs of a project",
        table: "runs",
        index: "runs_of_workspace",
        call: Effect.flatMap(RunRepo, (runs) =>
          runs.list({ workspaceId, projectId, status: "FAILED", ...pages })
        )
      },
      {
        what: "the claim of runs",
        table: "runs",
        index: "runs_unfinished",
        call: Effect.flatMap(RunRepo, (runs) => runs.claim({ worker: "w", limit: 4, leaseMillis: 60_000 }))
      },
      {
        what: "the search of memory",
        table: "memory_entries",
        call: Effect.flatMap(MemoryRepo, (memory) => memory.search({ workspaceId, projectId, limit: 20 }))
      },
      {
        what: "the release of turns",
        table: "conversations",
        index: "conversations_answering",
        call: Effect.flatMap(ConversationRepo, (repo) => repo.releaseTurns("w"))
      },
      {
        what: "the list of cron jobs",
        table: "cron_jobs",
        index: "cron_jobs_of_workspace",
        call: Effect.flatMap(CronJobRepo, (jobs) => jobs.list({ workspaceId }))
      },
      {
        what: "the list of the cron jobs of a project",
        table: "cron_jobs",
        index: "cron_jobs_of_workspace",
        call: Effect.flatMap(CronJobRepo, (jobs) => jobs.list({ workspaceId, projectId }))
      },
      {
        what: "the list of the runs of a cron job",
        table: "runs",
        index: "runs_of_cron_job",
        call: Effect.flatMap(RunRepo, (runs) =>
          runs.list({ workspaceId, cronJobId: "cron_107" as CronJobId, ...pages })
        )
      },
      {
        what: "the list of connectors",
        table: "connectors",
        index: "connectors_of_workspace",
        call: Effect.flatMap(ConnectorRepo, (connectors) => connectors.list({ workspaceId, projectId }))
      },
      {
        what: "the count of active connectors",
        table: "connectors",
        index: "connectors_of_workspace",
        call: Effect.flatMap(ConnectorRepo, (connectors) => connectors.countActive(workspaceId))
      },
      {
        what: "the check of the connectors that a run names",
        table: "connectors",
        call: Effect.flatMap(ConnectorRepo, (connectors) =>
          connectors.countOf(workspaceId, ["conn_7", "conn_107"])
        )
      },
      {
        what: "the list of memory",
        table: "memory_entries",
        index: "memory_entries_by_age",
        call: Effect.flatMap(MemoryRepo, (memory) => memory.list({ workspaceId }))
      },
      {
        what: "the list of the memory of a project by category",
        table: "memory_entries",
        call: Effect.flatMap(MemoryRepo, (memory) =>
          memory.list({ workspaceId, projectId, category: "general" })
        )
      },
      {
        what: "the list of memory by key",
        table: "memory_entries",
        call: Effect.flatMap(MemoryRepo, (memory) => memory.list({ workspaceId, key: "k107" }))
      },
      {
        what: "the list of projects",
        table: "projects",
        index: "projects_of_workspace",
        call: Effect.flatMap(ProjectRepo, (projects) => projects.list(workspaceId))
      },
      {
        what: "the list of provider keys",
        table: "provider_keys",
        index: "provider_keys_of_workspace",
        call: Effect.flatMap(ProviderKeyRepo, (keys) => keys.list(workspaceId))
      },
      {
        what: "the list of tokens",
        table: "tokens",
        index: "tokens_of_user",
        call: Effect.flatMap(TokenRepo, (tokens) => tokens.list(userId, new Date()))
      },
      {
        what: "the list of the workspaces of a user",
        table: "workspace_members",
        index: "workspace_members_of_user",
        call: Effect.flatMap(WorkspaceRepo, (workspaces) => workspaces.list(userId))
      },
      {
        what: "the list of members",
        table: "workspace_members",
        index: "workspace_members_pkey",
        call: Effect.flatMap(WorkspaceRepo, (workspaces) => workspaces.members(workspaceId))
      },
      ...(
        [
          ["runs", "runs_of_provider_key"],
          ["agents", "agents_of_provider_key"]
        ] as const
      ).map(([table, index]) => ({
        what: `the removal of a provider key from ${table}`,
        table,
        index,
        call: Effect.flatMap(ProviderKeyRepo, (keys) => keys.remove(`pkey_1${table.length}` as ProviderKeyId))
      })),
      ...(
        [
          ["runs", "runs_of_agent"],
          ["conversations", "conversations_of_agent"],
          ["cron_jobs", "cron_jobs_of_agent"]
        ] as const
      ).map(([table, index]) => ({
        what: `the removal of an agent from ${table}`,
        table,
        index,
        call: Effect.flatMap(AgentRepo, (agents) => agents.remove(`agent_1${table.length}` as AgentId))
      }))
    ])("$what uses an index", ({ call, index, table }) =>
      Effect.gen(function* () {
        const of = yield* scans(call)
        if (index !== undefined) assert.isAtLeast(of(index), 1, `no scan of ${index}`)
        assert.strictEqual(of(table), 0, `a scan of all ${table}`)
      })
    )
  })

if (Postgres.hasPostgres) describe("Indexes on PostgreSQL", suite)
else describe.skip(Postgres.skipped("Indexes on PostgreSQL"), suite)
