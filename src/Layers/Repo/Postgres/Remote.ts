import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as SqlClient from "effect/sql/SqlClient"
import { silentMillis } from "../../../Schemas/Capacity.ts"
import { Settings } from "../../../Services/Settings.ts"
import * as Migrations from "./Migrations.ts"
import * as Sessions from "./Sessions.ts"
import * as Tls from "./Tls.ts"

const oldestVersion = 15

/** The database can't be used, in a sentence for the operator. */
export class DatabaseError extends Schema.TaggedError<DatabaseError>()("DatabaseError", {
  error: Schema.String
}) {}

/**
 * A client of the server at `url`, made by `layerOf`, and the only way to one: what the address says of TLS holds for
 * all sessions of all clients. The driver by itself would send everything in the clear that no `sslmode` is said for.
 */
const reaching = <A, E, R>(
  url: Redacted.Redacted,
  options: Omit<PgClient.PgPoolConfig, "url" | "ssl">,
  layerOf: (config: PgClient.PgPoolConfig) => Layer.Layer<A, E, R>
) => Layer.unwrap(Effect.map(Tls.options(url), (ssl) => layerOf({ ...options, url, ssl })))

/**
 * A migrated PostgreSQL 15 or newer at `url`, in UTF8 and writable when this is built, through a pool, all of whose
 * sessions are reached alike (`Tls.ts`). Every statement is bounded by the server as well (`statement_timeout`), so that
 * work whose caller gave up does not go on; and a session whose process is stopped in the middle of a transaction is
 * given up soon (`silentMillis`), so that it holds up nobody for long.
 */
export const layer = (url: Redacted.Redacted) =>
  Layer.unwrap(
    Effect.map(Settings, ({ databasePool, databaseTimeoutMillis, leaseMillis }) => {
      const milliseconds = String(databaseTimeoutMillis)
      const options = {
        maxConnections: databasePool,
        applicationName: "agentd",
        keepAlive: "30 seconds",
        // As much as of the embedded database: what came from there can be read, and exported, here.
        maxMessageSize: 64 * 1024 * 1024,
        startupParameters: {
          statement_timeout: milliseconds,
          lock_timeout: milliseconds,
          idle_in_transaction_session_timeout: String(silentMillis(leaseMillis, databaseTimeoutMillis))
        }
      } as const
      return reaching(url, options, Sessions.layer)
    })
  ).pipe(Layer.provide(layerMigrated(url)))

/** The database at `url` as it is, on few connections; who waits for it gives up soon. */
export const layerAsItIs = (url: Redacted.Redacted) =>
  reaching(
    url,
    { maxConnections: 2, applicationName: "agentd doctor", connectTimeout: "10 seconds" },
    PgClient.layer
  )

interface Server {
  readonly version: number
  readonly encoding: string
  readonly writable: boolean
}

/** What speaks against using this server, in a sentence for the operator. */
const objection = ({ encoding, version, writable }: Server): string | undefined => {
  if (version < oldestVersion) {
    return `PostgreSQL ${version} is too old: agentd needs ${oldestVersion} or newer`
  }
  if (encoding !== "UTF8") {
    return (
      `the database of DATABASE_URL has the encoding ${encoding}, and agentd needs UTF8: ` +
      "create database agentd template template0 encoding 'UTF8'"
    )
  }
  if (!writable) {
    return (
      "the database of DATABASE_URL is read-only (a standby, or default_transaction_read_only is on): " +
      "agentd needs one that it can write to"
    )
  }
  return undefined
}

/** On a connection of its own, closed when it is done: a migration may take longer than any request may. */
const layerMigrated = (url: Redacted.Redacted) =>
  Layer.effectDiscard(
    migrated.pipe(
      Effect.provide(
        reaching(url, { maxConnections: 1, applicationName: "agentd migrate" }, PgClient.layer),
        {
          local: true
        }
      ),
      Effect.catchTag("SqlError", (error) => Effect.fail(Tls.explain(url, error)))
    )
  )

const migrated = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<Server>`
    select current_setting('server_version_num')::int / 10000 as version,
      current_setting('server_encoding') as encoding,
      not current_setting('transaction_read_only')::boolean as writable`
  const error = row === undefined ? undefined : objection(row)
  if (error !== undefined) return yield* new DatabaseError({ error })
  yield* Migrations.migrate
})
