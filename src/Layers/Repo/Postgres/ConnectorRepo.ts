import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { StoredConnector } from "../../../Schemas/Connector.ts"
import { ConnectorRepo } from "../../../Services/ConnectorRepo.ts"
import { Database } from "./Database.ts"
import { count, firstRow, returnedRow, rows } from "./Rows.ts"

const connector = firstRow(StoredConnector)
const connectors = rows(StoredConnector)

export const layer = Layer.effect(
  ConnectorRepo,
  Effect.gen(function* () {
    const { run, sql } = yield* Database

    const columns = sql.literal(`
      id, workspace_id as "workspaceId", project_id as "projectId", type, provider_id as "providerId",
      provider_name as "providerName", status, granted_scopes as "grantedScopes", metadata,
      sealed_credential as "sealedCredential", sealed_credential is not null as "hasCredential",
      created_at as "createdAt", updated_at as "updatedAt"`)

    return ConnectorRepo.of({
      insert: (given) =>
        run(
          Effect.asVoid(sql`
            insert into connectors (id, workspace_id, project_id, type, provider_id, provider_name, status,
              granted_scopes, metadata, sealed_credential, created_at, updated_at)
            values (${given.id}, ${given.workspaceId}, ${given.projectId}, ${given.type},
              ${given.providerId}, ${given.providerName}, ${given.status}, ${sql.json(given.grantedScopes)},
              ${sql.json(given.metadata)}, ${given.sealedCredential}, ${given.createdAt}, ${given.updatedAt})`)
        ),
      find: (id) => run(connector(sql`select ${columns} from connectors where id = ${id}`)),
      list: ({ projectId, workspaceId }) =>
        run(
          connectors(sql`
            select ${columns} from connectors
            where workspace_id = ${workspaceId}
            ${projectId === undefined ? sql.literal("") : sql`and project_id = ${projectId}`}
            order by created_at, id`)
        ),
      countActive: (workspaceId) =>
        run(
          count(sql`
            select count(*)::int as count from connectors
            where workspace_id = ${workspaceId} and status = 'ACTIVE'`)
        ),
      countOf: (workspaceId, ids) =>
        ids.length === 0
          ? Effect.succeed(0)
          : run(
              count(sql`
                select count(*)::int as count from connectors
                where workspace_id = ${workspaceId} and ${sql.in("id", ids)}`)
            ),
      update: (given) =>
        run(
          returnedRow(sql`
            update connectors
            set provider_name = ${given.providerName}, status = ${given.status},
              granted_scopes = ${sql.json(given.grantedScopes)}, metadata = ${sql.json(given.metadata)},
              sealed_credential = ${given.sealedCredential}, updated_at = ${given.updatedAt}
            where id = ${given.id} returning id`)
        ),
      remove: (id) => run(returnedRow(sql`delete from connectors where id = ${id} returning id`))
    })
  })
)
