import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { SqlClient } from "effect/sql/SqlClient"
import * as Migrations from "../../../src/Layers/Repo/Postgres/Migrations.ts"
import * as Postgres from "../../support/Postgres.ts"
import { eventually } from "../../support/Until.ts"

const dump = readFileSync(resolve(import.meta.dirname, "../../fixtures/migration-0023.sql"), "utf8")

const waits = Effect.flatMap(PgClient, (sql) =>
  Effect.map(
    sql<{ count: number }>`
      select count(*)::int as count from pg_locks l join pg_database d on d.oid = l.database
      where d.datname = current_database() and not granted`,
    ([row]) => row?.count !== 0
  )
)

/** A node of the version before works on one table, and on another as soon as the migrating one waits for it. */
const meanwhile = (first: string, second: string) =>
  Effect.gen(function* () {
    const url = yield* Postgres.emptyDatabase
    const on = <A, E>(work: Effect.Effect<A, E, PgClient | SqlClient>) =>
      Effect.provide(work, Postgres.client(url))
    yield* on(
      Effect.flatMap(PgClient, (sql) =>
        sql.unsafe(`do $once$ begin execute $dump$ ${dump} $dump$; end $once$`)
      )
    )
    const [holds, goOn] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const before = yield* Effect.forkChild(
      on(
        Effect.flatMap(PgClient, (sql) =>
          sql.withTransaction(
            sql
              .unsafe(first)
              .pipe(
                Effect.andThen(Deferred.succeed(holds, undefined)),
                Effect.andThen(Deferred.await(goOn)),
                Effect.andThen(sql.unsafe(second))
              )
          )
        )
      )
    )
    yield* Deferred.await(holds)
    const migrating = yield* Effect.forkChild(on(Migrations.migrate))
    yield* on(eventually(waits, "the migration waits"))
    yield* Deferred.succeed(goOn, undefined)
    yield* Fiber.join(before)
    assert.strictEqual((yield* Fiber.join(migrating)).at(-1)?.[0], Migrations.latest)
  }).pipe(Effect.scoped)

const slots = "select 1 from run_slots for update skip locked"
const runs = "update runs set attempts = attempts where false"
const agents = "update agents set name = name where false"

const suite = () => {
  it.live.each([
    { who: "claims runs", first: slots, second: runs },
    { who: "ends a run", first: runs, second: "update run_slots set running = running where false" },
    { who: "removes an agent", first: agents, second: runs },
    { who: "makes a workspace", first: "update workspace_members set role = role where false", second: slots }
  ])("go on beside a node of the version before that $who", ({ first, second }) => meanwhile(first, second))
}

if (Postgres.hasPostgres) describe("migrations on PostgreSQL", suite)
else describe.skip(Postgres.skipped("migrations on PostgreSQL"), suite)
