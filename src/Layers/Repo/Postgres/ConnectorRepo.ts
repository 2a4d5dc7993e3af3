import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { StoredConnector } from "../../../Schemas/Connector.ts"
import { ConnectorRepo } from "../../../Services/ConnectorRepo.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import { count, firstRow, returnedRow, rows } from "./Rows.ts"

const connector = firstRow(StoredConnector)
const connectors = rows(StoredConnector)
const columns = makeColumns(StoredConnector, {
  grantedScopes: "json",
  metadata: "json",
  hasCredential: { read: "sealed_credential is not null" }
})

export const layer = Layer.effect(
  ConnectorRepo,
  Effect.gen(function* () {
    const { query, sql } = yield* Database

    const selected = columns.read()

    return ConnectorRepo.of({
      insert: (given) => query(Effect.asVoid(sql`insert into connectors ${sql.insert(columns.row(given))}`)),
      find: (id) => query(connector(sql`select ${selected} from connectors where id = ${id}`)),
      list: ({ projectId, workspaceId }) =>
        query(
          connectors(sql`
            select ${selected} from connectors
            where workspace_id = ${workspaceId}
            ${projectId === undefined ? sql.literal("") : sql`and project_id = ${projectId}`}
            order by created_at, id`)
        ),
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
        query(
          returnedRow(sql`
            update connectors
            set ${sql.update(
              columns.changes({ grantedScopes, metadata, providerName, sealedCredential, status, updatedAt })
            )}
            where id = ${id} returning id`)
        ),
      remove: (id) => query(returnedRow(sql`delete from connectors where id = ${id} returning id`))
    })
  })
)
