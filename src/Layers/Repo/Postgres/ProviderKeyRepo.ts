import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { StoredProviderKey } from "../../../Schemas/ProviderKey.ts"
import { ProviderKeyRepo } from "../../../Services/ProviderKeyRepo.ts"
import { Database } from "./Database.ts"
import { firstRow, returnedRow, rows } from "./Rows.ts"

const providerKey = firstRow(StoredProviderKey)
const providerKeys = rows(StoredProviderKey)

export const layer = Layer.effect(
  ProviderKeyRepo,
  Effect.gen(function* () {
    const { run, sql } = yield* Database
    const columns = sql.literal(`
      id, workspace_id as "workspaceId", name, provider, model, base_url as "baseUrl",
      sealed_api_key as "sealedApiKey", sealed_api_key is not null as "hasApiKey",
      created_at as "createdAt"`)
    return ProviderKeyRepo.of({
      insert: (given) =>
        run(
          Effect.asVoid(sql`
            insert into provider_keys (id, workspace_id, name, provider, model, base_url, sealed_api_key,
              created_at)
            values (${given.id}, ${given.workspaceId}, ${given.name}, ${given.provider}, ${given.model},
              ${given.baseUrl}, ${given.sealedApiKey}, ${given.createdAt})`)
        ),
      find: (id) => run(providerKey(sql`select ${columns} from provider_keys where id = ${id}`)),
      list: (workspaceId) =>
        run(
          providerKeys(sql`
            select ${columns} from provider_keys where workspace_id = ${workspaceId} order by created_at, id`)
        ),
      remove: (id) => run(returnedRow(sql`delete from provider_keys where id = ${id} returning id`))
    })
  })
)
