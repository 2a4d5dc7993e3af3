import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"

export interface Column {
  readonly name: string
  readonly type: string
  readonly isIdentity: boolean
}

export interface Table {
  readonly name: string
  readonly columns: ReadonlyArray<Column>
}

export interface ForeignKey {
  readonly table: string
  readonly name: string
  readonly definition: string
}

const migrations = "agentd_migrations"
/** What is counted anew from other tables where it is imported, and which of the rows of usage are not folded: all that there are. */
const derived = ["run_counts", "run_count_changes", "run_count_folds", "usage_folds"]

/** The tables that hold data, as the database itself lists them: no list here that could be out of date. */
export const tablesOf = (sql: PgClient) =>
  Effect.gen(function* () {
    const found = yield* sql<Column & { readonly table: string }>`
      select c.relname as "table", a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
        a.attidentity <> '' as "isIdentity"
      from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
        and c.relname <> all (${[migrations, ...derived]}::text[])
        and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      order by c.relname, a.attnum`
    const tables = new Map<string, Array<Column>>()
    for (const { table, ...column } of found) {
      const columns = tables.get(table) ?? []
      columns.push(column)
      tables.set(table, columns)
    }
    return Array.from(tables, ([name, columns]): Table => ({ name, columns }))
  })

export const foreignKeysOf = (sql: PgClient) =>
  sql<ForeignKey>`
    select c.relname as "table", k.conname as name, pg_get_constraintdef(k.oid) as definition
    from pg_constraint k join pg_class c on c.oid = k.conrelid
    where k.contype = 'f' and c.relnamespace = current_schema()::regnamespace
    order by c.relname, k.conname`

/** The number of the last migration. */
export const schemaVersion = (sql: PgClient) =>
  Effect.map(
    sql<{ version: number }>`select max(migration_id)::int as version from ${sql(migrations)}`,
    ([row]) => row?.version ?? 0
  )

/**
 * For the rest of the transaction: the same texts whatever the settings of the server are, and no limit
 * of time that is meant for a request.
 */
export const settle = (sql: PgClient) =>
  Effect.forEach(
    [
      "statement_timeout = 0",
      "idle_in_transaction_session_timeout = 0",
      "datestyle = 'ISO'",
      "intervalstyle = 'postgres'",
      "timezone = 'UTC'",
      "bytea_output = 'hex'"
    ],
    (setting) => sql.unsafe(`set local ${setting}`),
    { discard: true }
  )
