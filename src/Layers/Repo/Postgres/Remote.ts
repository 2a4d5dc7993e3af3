import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as SqlClient from "effect/sql/SqlClient"
import { silentMillis } from "../../../Schemas/Capacity.ts"
import { sharesOf } from "../../../Schemas/DatabasePool.ts"
import { Settings, type SettingsShape } from "../../../Services/Settings.ts"
import { DatabaseError } from "./DatabaseError.ts"
import { Direct } from "./Direct.ts"
import * as Migrations from "./Migrations.ts"
import * as Pooled from "./Pooled.ts"
import * as Replica from "./Replica.ts"
import * as ReplicaState from "./ReplicaState.ts"
import * as Sessions from "./Sessions.ts"
import * as Tls from "./Tls.ts"

const oldestVersion = 15

/**
 * How sessions of the server at `url` are made, and the only way to that: what the address says of TLS holds for all of
 * them. The driver by itself would send everything in the clear that no `sslmode` is said for.
 */
const sessionsOf = <A extends Omit<PgClient.PgPoolConfig, "url" | "ssl">>(
  url: Redacted.Redacted,
  options: A
) => Effect.map(Tls.options(url), (ssl) => ({ ...options, url, ssl }))

const reaching = <A, E, R>(
  url: Redacted.Redacted,
  options: Omit<PgClient.PgPoolConfig, "url" | "ssl">,
  layerOf: (config: PgClient.PgPoolConfig) => Layer.Layer<A, E, R>
) => Layer.unwrap(Effect.map(sessionsOf(url, options), layerOf))

/** Where a PostgreSQL is. */
export interface Addresses {
  readonly url: Redacted.Redacted
  /** Of a standby that is read from. */
  readonly read?: Redacted.Redacted | undefined
  /** Of the same database, where `url` is that of a pooler, which gives each transaction another session. */
  readonly direct?: Redacted.Redacted | undefined
}

const common = {
  keepAlive: "30 seconds",
  // As much as of the embedded database: what came from there can be read, and exported, here.
  maxMessageSize: 64 * 1024 * 1024
} as const

/** What sessions are bounded by on the server, in milliseconds. */
const limitsOf = ({ databaseTimeoutMillis, leaseMillis }: SettingsShape) => ({
  statement_timeout: String(databaseTimeoutMillis),
  lock_timeout: String(databaseTimeoutMillis),
  idle_in_transaction_session_timeout: String(silentMillis(leaseMillis, databaseTimeoutMillis))
})

/**
 * A migrated PostgreSQL 15 or newer at `url`, in UTF8 and writable when this is built, through a pool for the work and one
 * for lists (`DatabasePool.ts`), all of whose sessions are reached alike (`Tls.ts`). Every statement is bounded by the
 * server as well (`statement_timeout`), so that work whose caller gave up does not go on; and a session whose process is
 * stopped in the middle of a transaction is given up soon (`silentMillis`), so that it holds up nobody for long. A pooler
 * passes on neither these bounds nor notifications: the former have to be there, the latter go the direct way.
 */
export const layer = (addresses: Addresses) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const settings = yield* Settings
      const limits = limitsOf(settings)
      const isPooled = addresses.direct !== undefined
      const way = isPooled ? Pooled.options : { startupParameters: limits }
      const shares = sharesOf(settings.databasePool)
      const lanes = {
        ...(shares.lists === 0
          ? {}
          : {
              lists: yield* sessionsOf(addresses.url, {
                ...common,
                ...way,
                maxConnections: shares.lists,
                applicationName: "agentd lists"
              })
            }),
        ...(addresses.read === undefined
          ? {}
          : {
              replica: yield* sessionsOf(addresses.read, {
                ...common,
                maxConnections: Math.max(1, shares.lists),
                applicationName: "agentd lists",
                connectTimeout: "5 seconds",
                startupParameters: { ...limits, statement_timeout: String(replicaMillis(settings)) }
              })
            })
      }
      const options = { ...common, ...way, maxConnections: shares.work, applicationName: "agentd" } as const
      const base = reaching(addresses.url, options, (config) => Sessions.layer(config, lanes))
      const replica = lanes.replica
      return Layer.mergeAll(
        addresses.direct === undefined
          ? Layer.empty
          : Layer.effect(Direct, sessionsOf(addresses.direct, { ...common, startupParameters: limits })),
        replica === undefined ? Layer.empty : layerReplica(replica, replicaMillis(settings)),
        Layer.effectDiscard(isPooled ? Pooled.requireBounds(limits) : Pooled.requireNone)
      ).pipe(Layer.provideMerge(base))
    })
  ).pipe(Layer.provide(layerMigrated(addresses.direct ?? addresses.url)))

/** So long may a replica take: the primary answers in the rest of the time. */
const replicaMillis = ({ databaseTimeoutMillis }: SettingsShape) => Math.ceil(databaseTimeoutMillis / 2)

const layerReplica = (config: PgClient.PgPoolConfig, limitMillis: number) =>
  Layer.effect(
    Replica.Replicated,
    Effect.gen(function* () {
      const state = yield* ReplicaState.make(yield* SqlClient.SqlClient, config)
      return yield* Replica.make(state, limitMillis)
    })
  )

/** The database at `url` as it is, on few connections; who waits for it gives up soon. */
export const layerAsItIs = ({ direct, url }: Addresses) =>
  reaching(
    direct ?? url,
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
