import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ProviderKey } from "../../../Schemas/ProviderKey.ts"
import { ProviderKeyRepo } from "../../../Services/ProviderKeyRepo.ts"
import { Database } from "./Database.ts"
import { firstRow } from "./Rows.ts"

const providerKey = firstRow(ProviderKey)

export const layer = Layer.effect(
  ProviderKeyRepo,
  Effect.gen(function* () {
    const { run, sql } = yield* Database
    return ProviderKeyRepo.of({
      insert: ({ createdAt, id, model, name, provider, workspaceId }) =>
        run(
          Effect.asVoid(sql`
            insert into provider_keys (id, workspace_id, name, provider, model, created_at)
            values (${id}, ${workspaceId}, ${name}, ${provider}, ${model}, ${createdAt})`)
        ),
      find: (id) =>
        run(
          providerKey(sql`
            select id, workspace_id as "workspaceId", name, provider, model, created_at as "createdAt"
            from provider_keys where id = ${id}`)
        )
    })
  })
)
