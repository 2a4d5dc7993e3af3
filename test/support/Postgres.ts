import { randomBytes } from "node:crypto"
import * as PgClient from "@effect/sql-pg/PgClient"
import { inject } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Sessions from "../../src/Layers/Repo/Postgres/Sessions.ts"
import { eventually } from "./Until.ts"

const server = inject("postgres")

/** Whether this machine has a PostgreSQL server; without one its tests are skipped by name. */
export const hasPostgres = server !== null

/** What a skipped suite is called, so that the report shows what did not run. */
export const skipped = (name: string) => `${name} (skipped: no PostgreSQL server on this machine)`

const onServer = <A, E>(work: (sql: PgClient.PgClient) => Effect.Effect<A, E>) =>
  Effect.flatMap(PgClient.PgClient, work).pipe(
    Effect.provide(
      PgClient.layer({
        url: Redacted.make(`${server?.url}/postgres`),
        maxConnections: 1,
        connectTimeout: "3 minutes"
      }),
      // A memoized client would be shared with, and closed by, another test.
      { local: true }
    ),
    Effect.orDie
  )

const makeDatabase = (template: string, options = "") =>
  Effect.acquireRelease(
    Effect.gen(function* () {
      const name = `test_${randomBytes(8).toString("hex")}`
      yield* onServer(
        (sql) => sql`create database ${sql(name)} template ${sql(template)} ${sql.literal(options)}`
      )
      return { name, url: `${server?.url}/${name}` }
    }),
    ({ name }) => onServer((sql) => sql`drop database if exists ${sql(name)} with (force)`)
  ).pipe(Effect.map(({ url }) => url))

/** The address of a new migrated database, which is dropped with the scope. */
export const migratedDatabase = Effect.suspend(() => makeDatabase(server?.template ?? ""))

/** The address of a new database without any table, which is dropped with the scope. */
export const emptyDatabase = Effect.suspend(() => makeDatabase("template0"))

/** The same, made otherwise than the server makes databases. */
export const databaseWith = (options: string) => makeDatabase("template0", options)

/**
 * A client of its own for the database at `url`, as in production, where sessions are told what they begin with and some
 * are shared therefore (`Sessions.ts`); it connects however long that takes.
 */
export const client = (url: string, options: Partial<PgClient.PgPoolConfig> = {}) =>
  Layer.fresh(
    Sessions.layer({
      url: Redacted.make(url),
      connectTimeout: "3 minutes",
      startupParameters: {},
      ...options
    })
  )

/**
 * Lets sessions of the database at `url` that begin from now on only read, or write again, as those of a server that
 * another has taken over from. `cut` ends the present ones, so that all are of one kind.
 */
export const letNewSessions = (
  what: "only read" | "write",
  url: string,
  { cut }: { readonly cut: boolean }
): Effect.Effect<void> =>
  onServer((sql) =>
    Effect.gen(function* () {
      const name = new URL(url).pathname.slice(1)
      const value = sql.literal(what === "write" ? "off" : "on")
      yield* sql`alter database ${sql(name)} set default_transaction_read_only = ${value}`
      if (cut)
        yield* sql`select pg_terminate_backend(pid, 120000) from pg_stat_activity where datname = ${name}`
    })
  )

/** A client of a new migrated database. */
export const layerClient = Layer.unwrap(Effect.map(migratedDatabase, (url) => client(url)))

/** Returns once exactly `sessions` sessions of the client's database wait for a lock. */
export const untilWaiting = (sessions: number) =>
  Effect.flatMap(PgClient.PgClient, (sql) =>
    eventually(
      Effect.map(
        sql<{ waiting: number }>`
          select count(*)::int as waiting from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`,
        ([row]) => row?.waiting === sessions
      ),
      `${sessions} sessions wait for a lock`
    )
  )
