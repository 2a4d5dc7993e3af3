import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import type { ProjectId, WorkspaceId } from "../../../../Schemas/Ids.ts"
import {
  MemoryDetail,
  MemoryTooSlow,
  searchedBytes,
  searchedEntries,
  wordsOfQuery
} from "../../../../Schemas/MemoryEntry.ts"
import { rows } from "../Rows.ts"

const entries = rows(MemoryDetail)

/** A word as a query of text search has it, whatever is in it. */
const lexeme = (word: string): string => `'${word.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`

interface Scope {
  readonly workspaceId: WorkspaceId
  readonly projectId: ProjectId | null
}

/** The search of the memory, as `Services/MemoryRepo.ts` bounds it. */
export const make = (sql: PgClient, selected: Fragment, limitMillis: number) => {
  const ofScope = ({ projectId }: Scope) => sql`(project_id is null or project_id = ${projectId})`

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
    return sql`workspace_id || '' = ${workspaceId}
      and memory_words(workspace_id, key, category, value) @@ (${lexeme(workspaceId)}::tsquery && ${words})`
  }

  const found = (scope: Scope, text: string, limit: number) => {
    const latest = sql`workspace_id = ${scope.workspaceId} and ${ofScope(scope)}`
    // Where there is no word, every entry would have them all.
    const worded =
      wordsOfQuery(text).trim() === ""
        ? sql`false`
        : sql`${withWords(scope.workspaceId, text)} and ${ofScope(scope)}`
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
          yield* sql`select set_config('statement_timeout', ${String(limitMillis)}, true)`
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

  return ({
    limit,
    query,
    ...scope
  }: Scope & { readonly query?: string | undefined; readonly limit: number }) =>
    query === undefined
      ? entries(sql`
          select ${selected} from memory_entries
          where workspace_id = ${scope.workspaceId} and ${ofScope(scope)}
          order by updated_at desc, id desc
          limit ${limit}`)
      : withinTime(entries(found(scope, query, limit)))
}
