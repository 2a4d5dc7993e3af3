import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { objection, rowOf, rowsPromised, TransferError, tableOf } from "../../../../Schemas/Transfer.ts"
import { foreignKeysOf, schemaVersion, settle, type Table, tablesOf } from "./Catalogue.ts"

const batchRows = 500
const batchLength = 1024 * 1024

const fail = (error: string) => new TransferError({ error })

/**
 * Turns off what looks at one row at a time, and what answers it: references, of which some go round in a
 * circle, and triggers, whose counts are rows of the export themselves. The lock keeps others out till the end.
 */
const open = Effect.fnUntraced(function* (sql: PgClient, tables: ReadonlyArray<Table>) {
  yield* sql`lock table ${sql.csv(tables.map(({ name }) => sql`${sql(name)}`))} in access exclusive mode`
  for (const { name } of tables) {
    const [row] = yield* sql<{ full: boolean }>`select exists (select 1 from ${sql(name)}) as full`
    if (row?.full !== false) {
      return yield* fail(`the database is not empty (there are rows in ${name}): import into a new one`)
    }
  }
  const foreignKeys = yield* foreignKeysOf(sql)
  for (const { name, table } of foreignKeys) {
    yield* sql`alter table ${sql(table)} drop constraint ${sql(name)}`
  }
  for (const { name } of tables) yield* sql`alter table ${sql(name)} disable trigger user`
  return foreignKeys
})

/**
 * Rows of one table; each value is the text that PostgreSQL wrote for it. All columns come out of a row in one
 * reading: asking it for one after the other reads it as often as the table has columns.
 */
const insert = (sql: PgClient, { columns, name }: Table, rows: ReadonlyArray<string>) => {
  const names = columns.map((column) => sql`${sql(column.name)}`)
  const texts = columns.map((column) => sql`${sql(column.name)} text`)
  const values = columns.map((column) => sql`texts.${sql(column.name)}::${sql.literal(column.type)}`)
  return sql`
    insert into ${sql(name)} (${sql.csv(names)})
    overriding system value
    select ${sql.csv(values)}
    from json_to_recordset(${`[${rows.join(",")}]`}::text::json) as texts(${sql.csv(texts)})`
}

const close = Effect.fnUntraced(function* (
  sql: PgClient,
  tables: ReadonlyArray<Table>,
  foreignKeys: ReadonlyArray<{ readonly table: string; readonly name: string; readonly definition: string }>
) {
  for (const { columns, name } of tables) {
    yield* sql`alter table ${sql(name)} enable trigger user`
    for (const { name: column } of columns.filter(({ isIdentity }) => isIdentity)) {
      yield* sql`
        select setval(pg_get_serial_sequence(${name}, ${column}),
          (select coalesce(max(${sql(column)}), 0) + 1 from ${sql(name)}), false)`
    }
  }
  for (const { definition, name, table } of foreignKeys) {
    yield* sql`alter table ${sql(table)} add constraint ${sql(name)} ${sql.literal(definition)}`
  }
  // Their nodes are those of another database. The triggers are on again and count it.
  yield* sql`update runs set status = 'PENDING', lease_until = null where status = 'RUNNING'`
  yield* sql`select recount_runs()`
})

/** Reads the lines in one transaction, a batch at a time. */
export const importLines = <E>(sql: PgClient, lines: Stream.Stream<string, E>) =>
  Effect.gen(function* () {
    yield* settle(sql)
    const schema = yield* schemaVersion(sql)
    const tables = new Map((yield* tablesOf(sql)).map((table) => [table.name, table]))
    const all = [...tables.values()]

    let foreignKeys: Effect.Success<ReturnType<typeof open>> | undefined
    let batch: Array<string> = []
    let length = 0
    let into: Table | undefined
    let rows = 0
    let promised: number | undefined

    const flush = Effect.suspend(() => {
      if (into === undefined || batch.length === 0) return Effect.void
      const inserted = insert(sql, into, batch)
      batch = []
      length = 0
      return Effect.asVoid(inserted)
    })

    const take = Effect.fnUntraced(function* (line: string) {
      if (foreignKeys === undefined) {
        const sentence = objection(line, schema)
        if (sentence !== undefined) return yield* fail(sentence)
        foreignKeys = yield* open(sql, all)
        return
      }
      if (promised !== undefined) return yield* fail("there are lines after the last one of the export")
      const name = tableOf(line)
      if (name === undefined) {
        promised = rowsPromised(line)
        if (promised === undefined) return yield* fail(`line ${rows + 2} of the export is damaged`)
        return
      }
      const table = tables.get(name)
      if (table === undefined) return yield* fail(`line ${rows + 2}: this database has no table ${name}`)
      if (table !== into || batch.length >= batchRows || length >= batchLength) yield* flush
      into = table
      batch.push(rowOf(line, name))
      length += line.length
      rows++
    })

    yield* Stream.runForEach(lines, take)
    if (foreignKeys === undefined) return yield* fail("the export is empty")
    if (promised === undefined) return yield* fail("the export is cut off: its last line is missing")
    if (promised !== rows) return yield* fail(`the export is damaged: ${rows} of ${promised} rows are there`)
    yield* flush
    yield* close(sql, all, foreignKeys)
    return rows
  })
