import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import type { ProjectId, WorkspaceId } from "../../../Schemas/Ids.ts"
import {
  defaultCategory,
  MemoryEntry,
  MemoryTooSlow,
  searchedBytes,
  searchedEntries,
  wordsOfQuery
} from "../../../Schemas/MemoryEntry.ts"
import { MemoryRepo } from "../../../Services/MemoryRepo.ts"
import { Settings } from "../../../Services/Settings.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import { firstRow, onlyRow, returnedRow, rows } from "./Rows.ts"

const entry = firstRow(MemoryEntry)
const inserted = onlyRow(MemoryEntry)
const entries = rows(MemoryEntry)
const columns = makeColumns(MemoryEntry, {})

/** A word as a query of text search has it, whatever is in it. */
const lexeme = (word: string): string => `'${word.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`

export const layer = Layer.effect(
  MemoryRepo,
  Effect.gen(function* () {
    const { query, sql } = yield* Database
    const { memorySearchMillis } = yield* Settings
    const selected = columns.read()

    const ofScope = ({ projectId }: { readonly projectId: ProjectId | null }) =>
      sql`(project_id is null or project_id = ${projectId})`

    /**
     * Compares the latest of some entries with a text, up to a number of bytes. How long a value is stands in its
     * row, so that only those are read that are compared.
     */
    const compared = (some: Fragment, text: string, limit: number) => sql`
      select * from (
        select *, sum(size) over (order by updated_at desc, id desc) - size as before
        from (
          select *, octet_length(key) + octet_length(value) + octet_length(category) as size
          from memory_entries where ${some}
          order by updated_at desc, id desc limit ${searchedEntries}) latest) weighed
      where before < ${searchedBytes} and exists (
        select from unnest(array[key, value, category]) as field
        where position(lower(${text}) in lower(field)) > 0)
      order by updated_at desc, id desc
      limit ${limit}`

    /** The workspace stands in the index itself: its own index would lead past this one. */
    const withWords = (workspaceId: WorkspaceId, text: string) => {
      const words = sql`plainto_tsquery('simple', ${wordsOfQuery(text)})`
      return sql`workspace_id || '' = ${workspaceId} and numnode(${words}) > 0
        and memory_words(workspace_id, key, category, value) @@ (${lexeme(workspaceId)}::tsquery && ${words})`
    }

    const found = (given: {
      readonly workspaceId: WorkspaceId
      readonly projectId: ProjectId | null
      readonly text: string
      readonly limit: number
    }) => {
      const { limit, text, workspaceId } = given
      const latest = sql`workspace_id = ${workspaceId} and ${ofScope(given)}`
      const worded = sql`${withWords(workspaceId, text)} and ${ofScope(given)}`
      return sql`
        select ${selected} from (
          select distinct on (updated_at, id) * from (
            (${compared(latest, text, limit)}) union all (${compared(worded, text, limit)})) each
          order by updated_at desc, id desc
          limit ${limit}) memory_entries
        order by updated_at desc, id desc`
    }

    /** The embedded database can't interrupt a statement: what bounds it there is how much it compares. */
    const withinTime = <A, E>(search: Effect.Effect<A, E | SqlError>) =>
      sql
        .withTransaction(
          Effect.gen(function* () {
            yield* sql`select set_config('statement_timeout', ${String(memorySearchMillis)}, true)`
            yield* sql`set local enable_seqscan = off`
            return yield* search
          })
        )
        .pipe(
          Effect.catchIf(
            (error): error is SqlError => isSqlError(error) && error.reason._tag === "StatementTimeoutError",
            () => Effect.fail(new MemoryTooSlow())
          )
        )

    return MemoryRepo.of({
      upsert: ({ at, category, ...given }) =>
        query(
          inserted(sql`
              insert into memory_entries ${sql.insert(
                columns.row({ ...given, category: category ?? defaultCategory, createdAt: at, updatedAt: at })
              )}
              on conflict (workspace_id, project_id, key) do update
              set value = excluded.value,
                category = coalesce(${category}, memory_entries.category),
                updated_at = excluded.updated_at
              returning ${selected}`)
        ),
      find: (id) => query(entry(sql`select ${selected} from memory_entries where id = ${id}`)),
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
      search: (filter) => {
        const { limit, query: text } = filter
        if (text !== undefined) return query(withinTime(entries(found({ ...filter, text }))))
        return query(
          entries(sql`
            select ${selected} from memory_entries
            where workspace_id = ${filter.workspaceId} and ${ofScope(filter)}
            order by updated_at desc, id desc
            limit ${limit}`)
        )
      }
    })
  })
)
