import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as SqlClient from "effect/sql/SqlClient"
import { Settings } from "../../../Services/Settings.ts"
import * as Migrations from "./Migrations.ts"

const oldestVersion = 15

/** The database can't be used, in a sentence for the operator. */
export class DatabaseError extends Schema.TaggedError<DatabaseError>()("DatabaseError", {
  error: Schema.String
}) {}

/**
 * A migrated PostgreSQL 15 or newer at `url`, through a pool. Every statement is bounded by the server
 * as well (`statement_timeout`), so that work whose caller gave up does not go on.
 */
export const layer = (url: Redacted.Redacted) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { databasePool, databaseTimeoutMillis } = yield* Settings
      const milliseconds = String(databaseTimeoutMillis)
      return PgClient.layer({
        url,
        maxConnections: databasePool,
        applicationName: "agentd",
        keepAlive: "30 seconds",
        // As much as of the embedded database: what came from there can be read, and exported, here.
        maxMessageSize: 64 * 1024 * 1024,
        startupParameters: {
          statement_timeout: milliseconds,
          lock_timeout: milliseconds,
          idle_in_transaction_session_timeout: milliseconds
        }
      })
    })
  ).pipe(Layer.provide(layerMigrated(url)))

/** On a connection of its own: a migration may take longer than any request may. */
const layerMigrated = (url: Redacted.Redacted) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql<{ version: number }>`
        select current_setting('server_version_num')::int / 10000 as version`
      if (row !== undefined && row.version < oldestVersion) {
        return yield* new DatabaseError({
          error: `PostgreSQL ${row.version} is too old: agentd needs ${oldestVersion} or newer`
        })
      }
      yield* Migrations.migrate
    })
  ).pipe(
    Layer.provide(PgClient.layer({ url, maxConnections: 1, applicationName: "agentd migrate" })),
    Layer.fresh
  )
