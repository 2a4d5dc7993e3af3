import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Remote from "../../../src/Layers/Repo/Postgres/Remote.ts"
import { sentenceOf } from "../../../src/Layers/Runtime.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import * as Postgres from "../../support/Postgres.ts"
import { eventually } from "../../support/Until.ts"

const opened = (url: string) =>
  Layer.build(
    Layer.fresh(Remote.layer({ url: Redacted.make(url) })).pipe(
      Layer.provide(Layer.succeed(Settings, Settings.defaults))
    )
  )

/** Why a start ends; a defect is no answer. */
const refusal = (url: string) => Effect.map(Effect.flip(Effect.scoped(opened(url))), sentenceOf)

const ask = (url: string, statement: string) =>
  Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(statement)).pipe(
    Effect.provide(Postgres.client(url, { maxConnections: 1 }), { local: true })
  )

const tablesOf = (url: string) =>
  Effect.map(
    ask(url, "select count(*)::int as tables from pg_class where relnamespace = 'public'::regnamespace"),
    ([row]) => row
  )

const name = "the start on a PostgreSQL"
describe.skipIf(!Postgres.hasPostgres)(Postgres.hasPostgres ? name : Postgres.skipped(name), () => {
  for (const encoding of ["LATIN1", "SQL_ASCII"]) {
    it.live(`is refused where the encoding is ${encoding}, and nothing is made there`, () =>
      Effect.gen(function* () {
        const url = yield* Postgres.databaseWith(`encoding '${encoding}' locale 'C'`)
        assert.strictEqual(
          yield* refusal(url),
          `the database of DATABASE_URL has the encoding ${encoding}, and agentd needs UTF8: ` +
            "create database agentd template template0 encoding 'UTF8'"
        )
        assert.deepStrictEqual(yield* tablesOf(url), { tables: 0 })
      })
    )
  }

  for (const [what, make] of [
    ["an empty database", Postgres.emptyDatabase],
    ["one that is up to date", Postgres.migratedDatabase]
  ] as const) {
    it.live(`is refused in a sentence where it can't write: ${what}`, () =>
      Effect.gen(function* () {
        const url = yield* make
        const database = new URL(url).pathname.slice(1)
        yield* ask(url, `alter database ${database} set default_transaction_read_only = on`)
        assert.strictEqual(
          yield* refusal(url),
          "the database of DATABASE_URL is read-only (a standby, or default_transaction_read_only is on): " +
            "agentd needs one that it can write to"
        )
        yield* ask(url, `set transaction_read_only = off; alter database ${database} reset all`).pipe(
          Effect.ignore
        )
      })
    )
  }

  // On the clock of tests: a session that is left would be closed by a pool that nobody asks for a minute.
  it.effect("leaves no session behind that has migrated", () =>
    Effect.gen(function* () {
      const url = yield* Postgres.emptyDatabase
      yield* opened(url)
      const sessions = Effect.map(
        ask(
          url,
          `select count(*)::int as sessions from pg_stat_activity
          where datname = current_database() and application_name = 'agentd migrate'`
        ),
        ([row]) => JSON.stringify(row) === '{"sessions":0}'
      )
      yield* eventually(sessions, "no session is left that has migrated")
    })
  )

  it.live("is refused in a sentence where its user may not make tables", () =>
    Effect.gen(function* () {
      const url = yield* Postgres.emptyDatabase
      const guest = `guest_${new URL(url).pathname.slice(1)}`
      yield* ask(url, `create role ${guest} login`)
      const asGuest = new URL(url)
      asGuest.username = guest
      const sentence = yield* refusal(asGuest.href)
      yield* ask(url, `drop role ${guest}`)
      assert.strictEqual(
        sentence,
        "the database of DATABASE_URL can't be used: permission denied for schema public"
      )
    })
  )

  it.live("goes on where all is well", () =>
    Effect.gen(function* () {
      const url = yield* Postgres.emptyDatabase
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* opened(url)
          assert.notDeepEqual(yield* tablesOf(url), { tables: 0 })
          const migrating = ask(
            url,
            "select 1 from pg_stat_activity where datname = current_database() and application_name = 'agentd migrate'"
          )
          yield* eventually(
            Effect.map(migrating, (rows) => rows.length === 0),
            "the session that migrated is closed"
          )
        })
      )
    })
  )
})
