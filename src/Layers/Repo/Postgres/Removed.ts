import type { PgClient } from "@effect/sql-pg/PgClient"

/** Tables of what is marked when it is deleted, and gone for every reader from then on. */
export type Markable = "agents" | "provider_keys" | "cron_jobs" | "conversations" | "webhooks"

/** A range, of which planners expect little also where they know nothing: the index of the marked ones is used. */
export const isMarked = "deleted_at between '-infinity' and 'infinity'"

/** What a column names, as text of SQL: null where that is being removed. The marked ones are looked up once. */
export const unlessMarked = (column: string, table: Markable): string =>
  `case when ${column} not in (select id from ${table} where ${isMarked}) then ${column} end`

/** Whether a row of this id is there; asked once for a statement. */
export const isThere = (sql: PgClient, table: Markable, id: string) =>
  sql`exists (select from ${sql(table)} where id = ${id} and deleted_at is null)`

/** Whether a run is none of a conversation that is being removed; asked once for a statement. */
export const isReadable = (sql: PgClient, run: string) => sql`not exists (
  select from runs r join conversations c on c.id = r.conversation_id
  where r.id = ${run} and c.deleted_at is not null)`

/** The same of the row of `runs`. */
export const isRunReadable = (sql: PgClient) => sql`not exists (
  select from conversations c where c.id = runs.conversation_id and c.deleted_at is not null)`
