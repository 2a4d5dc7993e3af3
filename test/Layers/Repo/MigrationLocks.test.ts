import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Migrations from "../../../src/Layers/Repo/Postgres/Migrations.ts"
import * as Postgres from "../../support/Postgres.ts"
import { eventually } from "../../support/Until.ts"

const title = "migrations beside nodes that serve"
const each = Postgres.hasPostgres ? describe : describe.skip

/** The last migration is to be made again: it takes `agents` first and `memory_entries` later. */
const makeOlder = Effect.flatMap(
  PgClient,
  (sql) => sql`delete from agentd_migrations where migration_id = ${Migrations.latest}`
)

const isWaitedFor = (table: string) =>
  Effect.flatMap(PgClient, (sql) =>
    Effect.map(
      sql`select from pg_locks where relation = ${table}::regclass and not granted`,
      (rows) => rows.length > 0
    )
  )

each(Postgres.hasPostgres ? title : Postgres.skipped(title), () => {
  it.live("waits for who holds one table and wants another, and breaks off neither", () =>
    Effect.gen(function* () {
      const url = yield* Postgres.migratedDatabase
      const client = Postgres.client(url)
      const migrating = yield* Effect.gen(function* () {
        yield* makeOlder
        const sql = yield* PgClient
        const started = yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`lock table memory_entries in row exclusive mode`
            const fiber = yield* Effect.forkDetach(
              Effect.provide(Migrations.migrate, Postgres.client(url), { local: true })
            )
            yield* eventually(
              Effect.provide(isWaitedFor("memory_entries"), Postgres.client(url), { local: true }),
              "the migration waits"
            )
            yield* sql`lock table agents in row exclusive mode`
            return fiber
          })
        )
        return started
      }).pipe(Effect.provide(client))
      const made = yield* Fiber.join(migrating)
      assert.deepStrictEqual(
        made.map(([id]) => id),
        [Migrations.latest]
      )
    }).pipe(Effect.scoped)
  )
})
