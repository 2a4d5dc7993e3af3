import { PgClient } from "@effect/sql-pg/PgClient"
import { describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { AuditEntryId, WorkspaceId } from "../../../src/Schemas/Ids.ts"
import { AuditRepo } from "../../../src/Services/AuditRepo.ts"
import * as Postgres from "../../support/Postgres.ts"
import { type IndexUse, indexUse, seeded } from "./IndexUse.ts"

const entries = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* PgClient
    yield* sql`
      insert into audit_entries
      select 'audit_' || n, 'ws_' || n % 100, now() - n * interval '1 minute', '{"system":"agentd"}', 'secret.use'
      from generate_series(0, 19999) n`
    yield* sql`vacuum analyze audit_entries`
  })
)

const withRepo = <A, E>(call: (repo: AuditRepo["Service"]) => Effect.Effect<A, E>) =>
  Effect.flatMap(AuditRepo, call)

const workspaceId = "ws_7" as WorkspaceId

const suite = () =>
  layer(Layer.provideMerge(entries, seeded), { excludeTestServices: true })((it) => {
    it.effect.each<IndexUse & { readonly what: string }>([
      {
        what: "its newest page",
        table: "audit_entries",
        index: "audit_entries_pkey",
        call: withRepo((repo) => repo.list({ workspaceId, after: null, limit: 50 }))
      },
      {
        what: "a later page",
        table: "audit_entries",
        index: "audit_entries_pkey",
        call: withRepo((repo) => repo.list({ workspaceId, after: "audit_5" as AuditEntryId, limit: 50 }))
      },
      {
        what: "what is old",
        table: "audit_entries",
        index: "audit_entries_of_age",
        call: withRepo((repo) => repo.prune(new Date(Date.now() - 13 * 86_400_000), 100))
      }
    ])("reads no whole table for $what", indexUse)
  })

if (Postgres.hasPostgres) describe("the audit log", suite)
else describe.skip(Postgres.skipped("the indexes of the audit log"), suite)
