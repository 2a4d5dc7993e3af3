import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Connector, StoredConnector } from "../../../Schemas/Connector.ts"
import { StoredHealth } from "../../../Schemas/ConnectorHealth.ts"
import { sealedField } from "../../../Schemas/ConnectorSecrets.ts"
import { ConnectorRepo } from "../../../Services/ConnectorRepo.ts"
import { insertSelect, makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import * as Joined from "./Joined.ts"
import { insertUnlessFull } from "./Quotas.ts"
import { count, firstRow, returnedRow, rows } from "./Rows.ts"
import * as Slices from "./Slices.ts"

const connector = firstRow(StoredConnector)
const connectors = rows(StoredConnector)
const hasCredential = {
  read: `(sealed_credential is not null or coalesce(metadata->'headers', metadata->'${sealedField}') is not null)`
}
const columns = makeColumns(StoredConnector, { grantedScopes: "json", metadata: "json", hasCredential })
const listed = makeColumns(Connector, { grantedScopes: "json", hasCredential })
const health = firstRow(StoredHealth)
const healthColumns = makeColumns(StoredHealth, { error: "json" })

/** Of a connector that is there, for as long as this is written. */
const keepHealth = (sql: PgClient, id: string, given: StoredHealth) => sql`
  with there as (select id from connectors where id = ${id} for key share)
  ${insertSelect(
    "connector_health",
    { connector_id: sql.literal("there.id"), ...healthColumns.row(given) },
    sql.literal("there")
  )}
  on conflict (connector_id) do update set
    checked_at = excluded.checked_at, error = excluded.error,
    ${sql.literal(["server_name", "server_version", "protocol_version"].map(ofKnownServer).join(", "))}`

/** What is known of the server, if nothing is now. */
const ofKnownServer = (column: string) =>
  `${column} = case when excluded.protocol_version is null then connector_health.${column} else excluded.${column} end`

export const layer = Layer.effect(
  ConnectorRepo,
  Effect.gen(function* () {
    const database = yield* Database
    const { change, lookUp, query, sql } = database

    const selected = columns.read()
    const all = yield* Joined.byWorkspace(database, (workspaceIds) =>
      query(
        connectors(sql`
          select ${selected} from connectors where workspace_id = any(${workspaceIds}) order by created_at, id`)
      )
    )

    const pages = Slices.makePages(
      database,
      {
        table: "connectors",
        alias: "c",
        shown: listed.read("c"),
        row: Connector,
        least: `${listed.leastBytes("providerName")} + octet_length(granted_scopes::text)`,
        json: listed.jsonBytes("c")
      },
      () => []
    )

    return ConnectorRepo.of({
      ...pages,
      insert: (given, most) =>
        change((audit) =>
          insertUnlessFull(sql, {
            table: "connectors",
            quota: "connectors",
            row: columns.row(given),
            workspaceId: given.workspaceId,
            most,
            audit
          })
        ),
      find: (id) => lookUp(connector(sql`select ${selected} from connectors where id = ${id}`)),
      all,
      countActive: (workspaceId) =>
        query(
          count(sql`
            select count(*)::int as count from connectors
            where workspace_id = ${workspaceId} and status = 'ACTIVE'`)
        ),
      countOf: (workspaceId, ids) =>
        ids.length === 0
          ? Effect.succeed(0)
          : query(
              count(sql`
                select count(*)::int as count from connectors
                where workspace_id = ${workspaceId} and ${sql.in("id", ids)}`)
            ),
      update: ({ grantedScopes, id, metadata, providerName, sealedCredential, status, updatedAt }) =>
        change((audit) =>
          returnedRow(
            audit.with(sql`
            update connectors
            set ${sql.update(
              columns.changes({ grantedScopes, metadata, providerName, sealedCredential, status, updatedAt })
            )}
            where id = ${id} returning id`)
          )
        ),
      health: (id) =>
        query(health(sql`select ${healthColumns.read()} from connector_health where connector_id = ${id}`)),
      keepHealth: (id, given) => query(Effect.asVoid(keepHealth(sql, id, given))),
      forgetHealth: (id) =>
        query(Effect.asVoid(sql`delete from connector_health where connector_id = ${id}`)),
      remove: (id) =>
        change((audit) => returnedRow(audit.with(sql`delete from connectors where id = ${id} returning id`)))
    })
  })
)
