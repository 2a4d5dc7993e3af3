import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { StoredProviderKey, UsableProviderKey } from "../../../Schemas/ProviderKey.ts"
import { ProviderKeyRepo } from "../../../Services/ProviderKeyRepo.ts"
import { isLimited } from "./Budgets.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import * as Joined from "./Joined.ts"
import { insertUnlessFull } from "./Quotas.ts"
import { firstRow, returnedRow, rows } from "./Rows.ts"

const providerKey = firstRow(StoredProviderKey)
const providerKeys = rows(StoredProviderKey)
const usableKeys = rows(UsableProviderKey)
const Beside = Schema.Struct({
  id: Schema.NullOr(Schema.String),
  of: Schema.String,
  budgeted: Schema.Boolean
})
const besides = rows(Beside)
const hasApiKey = { read: "sealed_api_key is not null" }
const columns = makeColumns(StoredProviderKey, { hasApiKey, pricing: "json" })
const usableColumns = makeColumns(UsableProviderKey, {
  hasApiKey,
  pricing: "json",
  isDefault: { read: "k.id is not distinct from w.default_provider_key_id" }
})

/** The keys of a workspace, and whether it has a budget, in one look. */
const makeForModels = Effect.fnUntraced(function* (database: Database["Service"]) {
  const { query, sql } = database
  // A row of each workspace at least: those without a key may have a budget too.
  const found = yield* Joined.byWorkspace(database, (workspaceIds) =>
    query(
      Effect.flatMap(
        sql<typeof Beside.Type>`
            select ${usableColumns.read("k")}, w.id as of, ${sql.literal(isLimited("b"))} as budgeted
            from workspaces w left join provider_keys k on k.workspace_id = w.id and k.deleted_at is null
            left join workspace_budgets b on b.workspace_id = w.id
            where w.id = any(${workspaceIds}) order by k.created_at, k.id`,
        (read) =>
          Effect.zipWith(
            usableKeys(Effect.succeed(read.filter(({ id }) => id !== null))),
            besides(Effect.succeed(read)),
            (keys, beside) => {
              const byId = new Map(keys.map((key) => [key.id as string, key]))
              return beside.map(({ budgeted, id, of }) => ({
                workspaceId: of,
                hasBudget: budgeted,
                key: id === null ? undefined : byId.get(id)
              }))
            }
          )
      )
    )
  )
  return (workspaceId: string) =>
    Effect.map(found(workspaceId), (all) => ({
      keys: all.flatMap(({ key }) => key ?? []),
      hasBudget: all.some(({ hasBudget }) => hasBudget)
    }))
})

export const layer = Layer.effect(
  ProviderKeyRepo,
  Effect.gen(function* () {
    const database = yield* Database
    const { change, lookUp, read, sql } = database
    const selected = columns.read("k")
    const forModels = yield* makeForModels(database)
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
      usable: (workspaceId) => Effect.map(forModels(workspaceId), ({ keys }) => keys),
      forModels,
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
