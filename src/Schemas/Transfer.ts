import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** Changes with the form of the lines; the tables have a version of their own. */
export const formatVersion = 1

/** Why data could not be moved, in a sentence for the operator. */
export class TransferError extends Schema.TaggedError<TransferError>()("TransferError", {
  error: Schema.String
}) {}

/** The first line of an export. `schema` is the number of the last migration. */
const Header = Schema.Struct({
  agentd: Schema.Literal("export"),
  version: Schema.Int,
  schema: Schema.Int
})

/** The last line: without it the export is not whole. */
const End = Schema.Struct({ rows: Schema.Int })

const decodeHeader = Schema.decodeUnknownOption(Schema.fromJsonString(Header))
const decodeEnd = Schema.decodeUnknownOption(Schema.fromJsonString(End))

export const headerLine = (schema: number): string =>
  JSON.stringify({ agentd: "export", version: formatVersion, schema })

export const endLine = (rows: number): string => JSON.stringify({ rows })

/** A row, whose values are the texts that PostgreSQL writes for them, stays as PostgreSQL has written it. */
export const rowLine = (table: string, row: string): string =>
  `{"table":${JSON.stringify(table)},"row":${row}}`

const rowPattern = /^\{"table":"([a-z_][a-z0-9_]*)","row":\{.*\}\}$/su

/** The table of a row's line; undefined for any other line. */
export const tableOf = (line: string): string | undefined => rowPattern.exec(line)?.[1]

/** The row of a line that is one of this table. */
export const rowOf = (line: string, table: string): string =>
  line.slice(`{"table":"${table}","row":`.length, -1)

export const rowsPromised = (line: string): number | undefined =>
  Option.getOrUndefined(Option.map(decodeEnd(line), ({ rows }) => rows))

/** What speaks against reading an export that begins with this line into tables of this version. */
export const objection = (line: string, schema: number): string | undefined => {
  const header = Option.getOrUndefined(decodeHeader(line))
  if (header === undefined) return "this is no export of agentd: its first line is not the header"
  if (header.version !== formatVersion) {
    return `the export has format ${header.version}, and this agentd reads format ${formatVersion}`
  }
  if (header.schema === schema) return undefined
  return (
    `the export was made at migration ${header.schema}, and this database is at ${schema}: ` +
    "import it with the agentd that made it, then upgrade"
  )
}
