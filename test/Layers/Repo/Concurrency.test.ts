import * as Fs from "node:fs"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Migrations from "../../../src/Layers/Repo/Postgres/Migrations.ts"
import type { JournalStep } from "../../../src/Schemas/Journal.ts"
import { RunJournal } from "../../../src/Services/RunJournal.ts"
import { RunRepo } from "../../../src/Services/RunRepo.ts"
import { Transaction } from "../../../src/Services/Transaction.ts"
import { UserRepo } from "../../../src/Services/UserRepo.ts"
import { executionOf } from "../../contract/RunSubject.ts"
import { layerNode } from "../../support/Backends.ts"
import { makeRun, makeUser, makeWorkspace } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"

const minute = 60_000

const folder = new URL("../../../src/Layers/Repo/Postgres/migrations/", import.meta.url)

/** The migrations that there are, by the names of their files. */
const migrations = await Promise.all(
  Fs.readdirSync(folder)
    .sort()
    .map(async (file) => {
      const [, id = "", name = ""] = /^(\d+)_(\w+)\.ts$/.exec(file) ?? []
      const { statements }: { statements: ReadonlyArray<string> } = await import(new URL(file, folder).href)
      return { id: Number(id), name, statements }
    })
)

const suite = () => {
  it.live.each([1, 2, 3, 4, 5])("migrates once when 5 nodes start together on a new database (%d)", () =>
    Effect.gen(function* () {
      const url = yield* Postgres.emptyDatabase
      const ready = yield* Deferred.make<void>()
      const nodes = yield* Effect.forEach(Array.from({ length: 5 }), () =>
        Effect.forkChild(
          Effect.gen(function* () {
            const sql = yield* PgClient
            yield* sql`select 1`
            yield* Deferred.await(ready)
            return yield* Migrations.migrate
          }).pipe(Effect.provide(Postgres.client(url)))
        )
      )
      yield* Deferred.succeed(ready, undefined)
      const done = yield* Effect.forEach(nodes, Fiber.join)
      assert.deepStrictEqual(
        done.filter((migrated) => migrated.length > 0),
        [migrations.map(({ id, name }) => [id, name] as const)]
      )
      const [made] = yield* Effect.flatMap(
        PgClient,
        (sql) => sql`
          select (select count(*)::int from agentd_migrations) as migrations,
            (select count(*)::int from pg_tables where schemaname = 'public') as tables`
      ).pipe(Effect.provide(Postgres.client(url)))
      const tables = migrations
        .flatMap(({ statements }) => statements)
        .filter((statement) => statement.startsWith("create table")).length
      assert.deepStrictEqual(made, { migrations: migrations.length, tables: tables + 1 })
    })
  )

  it.live("takes no step of a worker that loses the run while the step is being written", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient
      const [runs, journal] = [yield* RunRepo, yield* RunJournal]
      const { id } = yield* makeRun(yield* makeWorkspace)
      const [claimed] = yield* runs.claim({ worker: "zombie", limit: 1, leaseMillis: 0, perWorkspace: 8 })
      const zombie = executionOf("zombie", claimed ?? assert.fail("nothing was claimed"))
      const step: JournalStep = {
        type: "tool",
        result: { id: "1", name: "read", result: 1, isError: false, durationMs: 1 }
      }

      const [held, release] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      // Only a row of the same key can hold the write up at a moment that the test chooses; without its
      // foreign key, whose lock on the run would keep the heir from claiming it.
      const holding = yield* Effect.forkChild(
        sql
          .withTransaction(
            Effect.gen(function* () {
              yield* sql`set local session_replication_role = replica`
              yield* sql`insert into run_steps (run_id, index, step) values (${id}, 0, ${sql.json({})})`
              yield* Deferred.succeed(held, undefined)
              yield* Deferred.await(release)
              return yield* Effect.fail("rolled back")
            })
          )
          .pipe(Effect.ignore)
      )
      yield* Deferred.await(held)
      const writing = yield* Effect.forkChild(journal.record(zombie, 0, step))
      yield* Postgres.untilWaiting(1)
      const taken = yield* runs.takeOver({ worker: "heir", limit: 1, leaseMillis: minute, maxCrashes: 3 })
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(holding)
      const recorded = yield* Fiber.join(writing)
      // Either the heir has the run and the write failed, or the write went first and held the run.
      assert.strictEqual(recorded, taken.length === 0)
      for (const run of taken) {
        assert.isTrue(yield* journal.record(executionOf("heir", run), 0, step), "the heir can't go on")
      }
    }).pipe(Effect.provide(layerNode(Postgres.layerClient)))
  )

  it.live("cancels the query of an interrupted transaction, and no other", () =>
    Effect.gen(function* () {
      const transaction = yield* Transaction
      const users = yield* UserRepo
      const interrupted = Effect.gen(function* () {
        const inserting = yield* Deferred.make<void>()
        const fiber = yield* Effect.forkChild(
          transaction.atomically(Effect.andThen(Deferred.succeed(inserting, undefined), makeUser))
        )
        yield* Deferred.await(inserting)
        yield* Fiber.interrupt(fiber)
      })
      const counted = Effect.replicateEffect(users.count, 200)
      yield* Effect.all(
        [
          Effect.replicateEffect(interrupted, 100),
          Effect.replicateEffect(interrupted, 100),
          counted,
          counted
        ],
        { concurrency: "unbounded" }
      )
      assert.isAtMost(yield* users.count, 200)
    }).pipe(Effect.provide(layerNode(Postgres.layerClient)))
  )
}

if (Postgres.hasPostgres) describe("Concurrency on PostgreSQL", suite)
else describe.skip(Postgres.skipped("Concurrency on PostgreSQL"), suite)
