import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { defaultCategory, MemoryDetail, MemoryEntry } from "../../../Schemas/MemoryEntry.ts"
import { type MemoryFilter, MemoryRepo } from "../../../Services/MemoryRepo.ts"
import { Settings } from "../../../Services/Settings.ts"
import { insertSelect, makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import * as Search from "./MemoryRepo/Search.ts"
import { mostOf, readFull, unlessFull } from "./Quotas.ts"
import { firstRow, onlyRow, returnedRow } from "./Rows.ts"
import * as Slices from "./Slices.ts"

const detail = firstRow(MemoryDetail)
const inserted = onlyRow(MemoryEntry)
const columns = makeColumns(MemoryEntry, {})
const detailed = makeColumns(MemoryDetail, { author: "json" })

/**
 * `room, full_plan as (…)`: a row of `full_plan` where the plan of the workspace allows no such entry. Who writes or
 * deletes another one waits.
 */
const fullMemory = (
  sql: PgClient,
  { key, projectId, value, workspaceId }: Pick<MemoryEntry, "key" | "projectId" | "value" | "workspaceId">,
  most: Parameters<MemoryRepo["Service"]["upsert"]>[1]
) => {
  const more = sql`${Buffer.byteLength(value)}::int - coalesce(known, 0)`
  return sql`
    room as materialized (select * from locked_memory(${workspaceId}, ${projectId}, ${key})),
    full_plan as materialized (
      select plan, quota from workspaces, room, lateral (values
        ('memoryEntries', known is null and entries >= ${mostOf(sql, most?.memoryEntries)}),
        ('memoryBytes', ${more} > 0 and bytes + ${more} > ${mostOf(sql, most?.memoryBytes)})
      ) checks (quota, is_full)
      where id = ${workspaceId} and is_full limit 1)`
}

export const layer = Layer.effect(
  MemoryRepo,
  Effect.gen(function* () {
    const database = yield* Database
    const { change, list, lookUp, sql } = database
    const { memorySearchMillis } = yield* Settings
    const selected = columns.read()
    const withAuthor = detailed.read()
    const search = Search.make(sql, withAuthor, memorySearchMillis)

    const pages = Slices.makePages(
      database,
      {
        table: "memory_entries",
        alias: "m",
        shown: columns.read("m"),
        row: MemoryEntry,
        least: columns.leastBytes("key", "value"),
        json: columns.jsonBytes("m")
      },
      ({ category, key }: MemoryFilter) => [
        ...(category === undefined ? [] : [sql`category = ${category}`]),
        ...(key === undefined ? [] : [sql`key = ${key}`])
      ]
    )

    return MemoryRepo.of({
      ...pages,
      upsert: ({ at, category, ...given }, most) => {
        const entry = { ...given, category: category ?? defaultCategory, createdAt: at, updatedAt: at }
        const room = sql.literal("(select 1) one where not exists (select from full_plan)")
        return change((audit) =>
          inserted(
            unlessFull({ ...most })(sql`
              with ${fullMemory(sql, given, most)}, changed as (
                ${insertSelect("memory_entries", detailed.row(entry), room)}
                on conflict (workspace_id, project_id, key) do update
                set value = excluded.value,
                  category = coalesce(${category}, memory_entries.category),
                  author = excluded.author,
                  updated_at = excluded.updated_at
                returning ${selected})${audit.of("changed")}
              select * from changed full join ${readFull(sql)} full_plan on true`)
          )
        )
      },
      find: (id) => lookUp(detail(sql`select ${withAuthor} from memory_entries where id = ${id}`)),
      remove: (id) =>
        change((audit) =>
          // The counts before the entry, as who writes it has them.
          returnedRow(sql`
            with counted as materialized (
              select from quota_counts where kind = 'memoryEntries' and workspace_id = (
                select workspace_id from memory_entries where id = ${id}) for update
            ), changed as (
              delete from memory_entries where id = ${id} and exists (select from counted) returning id
            )${audit.of("changed")}
            select id from changed`)
        ),
      search: (filter) => list(search(filter))
    })
  })
)
