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
      k.id, k.workspace_id as "workspaceId", k.name, k.provider, k.model, k.base_url as "baseUrl",
      k.sealed_api_key as "sealedApiKey", k.sealed_api_key is not null as "hasApiKey",
      k.created_at as "createdAt"`)
    return ProviderKeyRepo.of({
      insert: (given) =>
        run(
          Effect.asVoid(sql`
            insert into provider_keys (id, workspace_id, name, provider, model, base_url, sealed_api_key,
              created_at)
            values (${given.id}, ${given.workspaceId}, ${given.name}, ${given.provider}, ${given.model},
              ${given.baseUrl}, ${given.sealedApiKey}, ${given.createdAt})`)
        ),
      find: (id) => run(providerKey(sql`select ${columns} from provider_keys k where k.id = ${id}`)),
      list: (workspaceId) =>
        run(
          providerKeys(sql`
            select ${columns} from provider_keys k
            where k.workspace_id = ${workspaceId} order by k.created_at, k.id`)
        ),
      usable: (workspaceId) =>
        run(
          providerKeys(sql`
            select ${columns} from provider_keys k join workspaces w on w.id = k.workspace_id
            where k.workspace_id = ${workspaceId}
            order by k.id is distinct from w.default_provider_key_id, k.created_at, k.id`)
        ),
      remove: (id) => run(returnedRow(sql`delete from provider_keys where id = ${id} returning id`))
    })
  })
)
