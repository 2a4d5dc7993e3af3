import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { StoredProviderKey, UsableProviderKey } from "../../../Schemas/ProviderKey.ts"
import { ProviderKeyRepo } from "../../../Services/ProviderKeyRepo.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import * as Joined from "./Joined.ts"
import { insertUnlessFull } from "./Quotas.ts"
import { firstRow, returnedRow, rows } from "./Rows.ts"

const providerKey = firstRow(StoredProviderKey)
const providerKeys = rows(StoredProviderKey)
const usableKeys = rows(UsableProviderKey)
const hasApiKey = { read: "sealed_api_key is not null" }
const columns = makeColumns(StoredProviderKey, { hasApiKey, pricing: "json" })
const usableColumns = makeColumns(UsableProviderKey, {
  hasApiKey,
  pricing: "json",
  isDefault: { read: "k.id is not distinct from w.default_provider_key_id" }
})

export const layer = Layer.effect(
  ProviderKeyRepo,
  Effect.gen(function* () {
    const database = yield* Database
    const { change, lookUp, query, read, sql } = database
    const selected = columns.read("k")
    const usable = yield* Joined.byWorkspace(database, (workspaceIds) =>
      query(
        usableKeys(sql`
          select ${usableColumns.read("k")} from provider_keys k join workspaces w on w.id = k.workspace_id
          where k.workspace_id = any(${workspaceIds}) and k.deleted_at is null order by k.created_at, k.id`)
      )
    )
    return ProviderKeyRepo.of({
      insert: (given, most) =>
        change((audit) =>
          insertUnlessFull(sql, {
            table: "provider_keys",
            quota: "providerKeys",
            row: columns.row(given),
            workspaceId: given.workspaceId,
            most,
            audit
          })
        ),
      find: (id) =>
        lookUp(
          providerKey(
            sql`select ${selected} from provider_keys k where k.id = ${id} and k.deleted_at is null`
          )
        ),
      list: (workspaceId) =>
        read(
          workspaceId,
          providerKeys(sql`
            select ${selected} from provider_keys k
            where k.workspace_id = ${workspaceId} and k.deleted_at is null order by k.created_at, k.id`)
        ),
      usable,
      update: (id, { pricing }) =>
        change((audit) =>
          returnedRow(sql`
            with changed as (
              update provider_keys set pricing = ${pricing === null ? null : sql.json(pricing)}
              where id = ${id} and deleted_at is null returning id, workspace_id
            )${audit.of("changed")}
            select id from changed`)
        ),
      remove: (id) =>
        change((audit) =>
          returnedRow(sql`
            with marked as (
              update provider_keys set deleted_at = clock_timestamp(), sealed_api_key = null
              where id = ${id} and deleted_at is null returning id, workspace_id
            ), reset as (
              update workspaces set default_provider_key_id = null
              where id in (select workspace_id from marked) and default_provider_key_id = ${id}
            )${audit.of("marked")}
            select id from marked`)
        )
    })
  })
)
