import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { SqlError } from "effect/sql/SqlError"
import { endLine, headerLine, rowLine, TransferError } from "../../../Schemas/Transfer.ts"
import { Transfer } from "../../../Services/Transfer.ts"
import { Database } from "./Database.ts"
import { schemaVersion, settle, type Table, tablesOf } from "./Transfer/Catalogue.ts"
import { importLines } from "./Transfer/Import.ts"

const pageRows = 50

type Put<E> = (lines: ReadonlyArray<string>) => Effect.Effect<void, E>

/** A page at a time, so that memory is bounded by the largest rows and not by the table. */
const exportTable = Effect.fnUntraced(function* <E>(sql: PgClient, { columns, name }: Table, put: Put<E>) {
  const texts = columns.map((column) => sql`${sql(column.name)}::text as ${sql(column.name)}`)
  yield* sql`
    declare agentd_export no scroll cursor for
    select row_to_json(texts)::text as row from (select ${sql.csv(texts)} from ${sql(name)}) texts`
  let count = 0
  while (true) {
    const page = yield* sql<{ row: string }>`fetch ${sql.literal(String(pageRows))} from agentd_export`
    count += page.length
    if (page.length > 0) yield* put(page.map(({ row }) => rowLine(name, row)))
    if (page.length < pageRows) break
  }
  yield* sql`close agentd_export`
  return count
})

const exportLines = <E>(sql: PgClient, put: Put<E>) =>
  Effect.gen(function* () {
    yield* sql`set transaction isolation level repeatable read, read only`
    yield* settle(sql)
    yield* put([headerLine(yield* schemaVersion(sql))])
    let rows = 0
    for (const table of yield* tablesOf(sql)) rows += yield* exportTable(sql, table, put)
    yield* put([endLine(rows)])
    return rows
  })

export const layer = Layer.effect(
  Transfer,
  Effect.map(Database, ({ sql }) => {
    const whole = <A, E>(work: Effect.Effect<A, E | SqlError>) =>
      Effect.catchIf(sql.withTransaction(work), isSqlError, (error) =>
        Effect.fail(new TransferError({ error: `the database refuses: ${wordsOf(error)}` }))
      ) as Effect.Effect<A, Exclude<E, SqlError> | TransferError>
    return Transfer.of({
      write: (put) => whole(exportLines(sql, put)),
      read: (lines) => whole(importLines(sql, lines))
    })
  })
)

const isSqlError = (error: unknown): error is SqlError =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "SqlError"

/** PostgreSQL's own sentence. */
const wordsOf = ({ message, reason }: SqlError): string =>
  reason.cause instanceof Error ? reason.cause.message : message
