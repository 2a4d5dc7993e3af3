import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { statements } from "../../../src/Layers/Repo/Postgres/migrations/0020_quotas.ts"
import { statements as webhookStatements } from "../../../src/Layers/Repo/Postgres/migrations/0035_webhooks.ts"
import { AgentRepo } from "../../../src/Services/AgentRepo.ts"
import { type Kind, kinds, remember } from "../../contract/QuotaRepo.ts"
import { type Backend, layerNode } from "../../support/Backends.ts"
import * as EmbeddedCopy from "../../support/EmbeddedCopy.ts"
import { makeAgent, makeWorkspace } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"

const counts = Effect.flatMap(
  PgClient,
  (sql) => sql`select workspace_id, kind, count::int, bytes::int from quota_counts order by 1, 2`
)

/** As the version before left the database. */
const undo = Effect.gen(function* () {
  const sql = yield* PgClient
  const names = statements.flatMap((statement) => statement.match(/^create function (\w+)/u)?.[1] ?? [])
  assert.isAbove(names.length, 10)
  for (const name of names) yield* sql`drop function ${sql(name)} cascade`
  yield* sql`drop table quota_counts`
  yield* sql`drop index workspace_members_owners`
  yield* sql`drop index tokens_in_use`
})

const suite = <E>(layer: Layer.Layer<Backend | PgClient, E>) => {
  it.live("of what there is are made by the migration, as if it had always been there", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient
      const [full, empty] = [yield* makeWorkspace, yield* makeWorkspace]
      for (const { make } of Object.values(kinds) as ReadonlyArray<Kind>) {
        yield* Effect.replicateEffect(make(full), 2)
      }
      yield* remember(full, { key: "large", value: "é".repeat(100_000) })
      yield* (yield* AgentRepo).remove((yield* makeAgent(full)).id)
      const before = yield* counts
      yield* undo
      for (const statement of [...statements, ...webhookStatements]) yield* sql.unsafe(statement)
      assert.deepStrictEqual(yield* counts, before)
      assert.deepInclude(before, { workspace_id: full, kind: "agents", count: 2, bytes: 0 })
      assert.deepInclude(before, { workspace_id: full, kind: "memoryEntries", count: 3, bytes: 200_002 })
      assert.deepInclude(before, { workspace_id: empty, kind: "agents", count: 0, bytes: 0 })
    }).pipe(Effect.provide(layer, { local: true }))
  )

  it.live("go with what the version before writes, and with many rows at once", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient
      const workspaceId = yield* makeWorkspace
      yield* sql`
        insert into memory_entries (id, workspace_id, key, value, category, created_at, updated_at)
        select 'mem_' || n, ${workspaceId}, 'k' || n, 'v', 'c', now(), now() from generate_series(1, 500) n`
      yield* sql`
        insert into memory_entries (id, workspace_id, key, value, category, created_at, updated_at)
        select 'other_' || n, ${workspaceId}, 'k' || n, 'longer', 'c', now(), now() from generate_series(491, 510) n
        on conflict (workspace_id, project_id, key) do update set value = excluded.value`
      const of = (count: number, bytes: number) => ({
        workspace_id: workspaceId,
        kind: "memoryEntries",
        count,
        bytes
      })
      assert.deepInclude(yield* counts, of(510, 490 + 20 * 6))
      yield* sql`delete from memory_entries where key > 'k1'`
      const [left] = yield* sql`
        select count(*)::int, coalesce(sum(octet_length(value)), 0)::int as bytes from memory_entries`
      assert.deepInclude(yield* counts, { ...of(0, 0), ...left })
      yield* sql`delete from workspaces where id = ${workspaceId}`
      assert.deepStrictEqual(yield* counts, [])
    }).pipe(Effect.provide(layer, { local: true }))
  )
}

describe("counts on the embedded database", () => suite(layerNode(EmbeddedCopy.layerClient)))
if (Postgres.hasPostgres) describe("counts on PostgreSQL", () => suite(layerNode(Postgres.layerClient)))
else describe.skip(Postgres.skipped("counts on PostgreSQL"), () => suite(layerNode(Postgres.layerClient)))
