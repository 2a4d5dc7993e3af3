import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { defaultCategory, MemoryDetail, MemoryEntry } from "../../../Schemas/MemoryEntry.ts"
import { MemoryRepo } from "../../../Services/MemoryRepo.ts"
import { Settings } from "../../../Services/Settings.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import * as Search from "./MemoryRepo/Search.ts"
import { firstRow, onlyRow, returnedRow, rows } from "./Rows.ts"

const detail = firstRow(MemoryDetail)
const inserted = onlyRow(MemoryEntry)
const entries = rows(MemoryEntry)
const columns = makeColumns(MemoryEntry, {})
const detailed = makeColumns(MemoryDetail, { author: "json" })

export const layer = Layer.effect(
  MemoryRepo,
  Effect.gen(function* () {
    const { query, sql } = yield* Database
    const { memorySearchMillis } = yield* Settings
    const selected = columns.read()
    const withAuthor = detailed.read()
    const search = Search.make(sql, withAuthor, memorySearchMillis)

    return MemoryRepo.of({
      upsert: ({ at, category, ...given }) =>
        query(
          inserted(sql`
              insert into memory_entries ${sql.insert(
                detailed.row({
                  ...given,
                  category: category ?? defaultCategory,
                  createdAt: at,
                  updatedAt: at
                })
              )}
              on conflict (workspace_id, project_id, key) do update
              set value = excluded.value,
                category = coalesce(${category}, memory_entries.category),
                author = excluded.author,
                updated_at = excluded.updated_at
              returning ${selected}`)
        ),
      find: (id) => query(detail(sql`select ${withAuthor} from memory_entries where id = ${id}`)),
      list: ({ category, key, projectId, workspaceId }) =>
        query(
          entries(sql`
            select ${selected} from memory_entries
            where ${sql.and([
              sql`workspace_id = ${workspaceId}`,
              ...(projectId === undefined ? [] : [sql`project_id = ${projectId}`]),
              ...(category === undefined ? [] : [sql`category = ${category}`]),
              ...(key === undefined ? [] : [sql`key = ${key}`])
            ])}
            order by created_at, id`)
        ),
      remove: (id) => query(returnedRow(sql`delete from memory_entries where id = ${id} returning id`)),
      search: (filter) => query(search(filter))
    })
  })
)
