import type { PgClient } from "@effect/sql-pg/PgClient"
import * as PgTypes from "@effect/sql-pg/PgTypes"
import type * as Schema from "effect/Schema"
import * as Statement from "effect/sql/Statement"

type Plain = string | number | boolean | Date | null

/** How a field is kept that is not simply the column of its name: as JSON, or not at all but read from an expression. */
type Kept = "json" | { readonly read: string }

type Structured<T> = { [K in keyof T]: T[K] extends Plain ? never : K }[keyof T]

type Special<T> = { readonly [K in Structured<T>]: Kept } & { readonly [K in keyof T]?: Kept }

type Unknown<T, K> = { readonly [P in Exclude<keyof K, keyof T>]: never }

type Read<K> = { [P in keyof K]: K[P] extends { readonly read: string } ? P : never }[keyof K]

/** The column of a field: `workspace_id` of `workspaceId`. */
const columnOf = (field: string) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/**
 * The columns of a schema's fields, by their names. The compiler asks for a word on each field whose value is
 * no plain one. See docs/adr/0015-rows.md.
 */
export const makeColumns = <
  F extends Schema.Struct.Fields,
  const K extends Special<Schema.Struct<F>["Type"]>
>(
  schema: Schema.Struct<F>,
  special: K & Unknown<Schema.Struct<F>["Type"], K>
) => {
  type Row = Omit<Schema.Struct<F>["Type"], Read<K>>
  const kept = new Map<string, Kept>(Object.entries(special))
  const fields = Object.keys(schema.fields)
  const stored = fields
    .filter((field) => typeof kept.get(field) !== "object")
    .map((field) => ({ field, column: columnOf(field), isJson: kept.get(field) === "json" }))

  const named = (given: object, valueOf: (value: unknown, isJson: boolean) => unknown) => {
    const values = given as Readonly<Record<string, unknown>>
    const row: Record<string, unknown> = {}
    for (const { column, field, isJson } of stored) {
      if (field in values) row[column] = valueOf(values[field], isJson)
    }
    return row
  }

  const from = (field: string, table: string | undefined): string => {
    const special = kept.get(field)
    return typeof special === "object" ? special.read : `${qualified(table)}"${columnOf(field)}"`
  }

  return {
    /** What is behind `select`, of the table that the statement calls `table`: rows that the schema decodes. */
    read: (table?: string) =>
      literal(fields.map((field) => `${from(field, table)} as "${field}"`).join(", ")),
    /** How many bytes a row of `table` has as JSON, a little more at most: all of it is read. */
    jsonBytes: (table: string): string =>
      // PostgreSQL has blanks around each colon and behind each comma.
      `octet_length(json_build_object(${fields
        .map((field) => `'${field}', ${from(field, table)}`)
        .join(", ")})::text) - ${3 * fields.length - 1}`,
    /** How many bytes it has at least, by the lengths of some texts, which are not read for that. */
    leastBytes: (...texts: ReadonlyArray<keyof F & string>): string =>
      [
        String(fields.reduce((sum, field) => sum + field.length + 4, 0)),
        ...texts.map((field) => `coalesce(octet_length("${columnOf(field)}"), 0)`)
      ].join(" + "),
    /** A row for `sql.insert` and `insertSelect`. */
    row: (given: Row) => named(given, asParameter),
    /** What `sql.update` sets: the fields that are there. */
    changes: (given: Partial<Row>) => named(given, asParameter),
    /** A row for `recordset`, where what is absent is NULL. */
    json: (given: Row) => named(given, (value) => value ?? undefined),
    /** What `insertSelect` gives each column: that of a recordset. */
    from: (recordset: string) =>
      Object.fromEntries(stored.map(({ column }) => [column, literal(`${recordset}."${column}"`)]))
  }
}

const literal = (text: string) => Statement.fragment([Statement.literal(text)])

const comma = Statement.literal(", ")

const asParameter = (value: unknown, isJson: boolean) =>
  isJson && value !== null ? PgTypes.jsonb(value) : value

const qualified = (table: string | undefined) => (table === undefined ? "" : `${table}.`)

/** An object of columns of `table`, as JSON. */
export const objectOf = (schema: Schema.Struct<Schema.Struct.Fields>, table?: string): string =>
  `json_build_object(${Object.keys(schema.fields)
    .map((field) => `'${field}', ${qualified(table)}"${columnOf(field)}"`)
    .join(", ")})`

/** What a row refers to, as JSON; null where the left join with `table` found nothing. */
export const referenceOf = (schema: Schema.Struct<Schema.Struct.Fields>, table: string): string =>
  `case when ${table}.id is not null then ${objectOf(schema, table)} end`

/** `insert into … select …`: what each column is given, out of `from`. */
export const insertSelect = (
  table: string,
  values: Readonly<Record<string, unknown>>,
  from: Statement.Fragment
) => {
  const names = Object.keys(values).map((name) => `"${name}"`)
  const segments: Array<Statement.Segment> = [
    Statement.literal(`insert into "${table}" (${names.join(", ")}) select `)
  ]
  Object.values(values).forEach((value, index) => {
    if (index > 0) segments.push(comma)
    if (Statement.isFragment(value)) segments.push(...value.segments)
    else segments.push(Statement.parameter(value))
  })
  return Statement.fragment([...segments, Statement.literal(" from "), ...from.segments])
}

/** Rows of a table that are given as JSON, in one parameter however many they are. */
export const recordset = (sql: PgClient, table: string, rows: ReadonlyArray<object>) =>
  sql`jsonb_populate_recordset(null::${sql(table)}, ${sql.json(rows)})`
