import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { onlyRow } from "../Rows.ts"

const moment = onlyRow(Schema.Struct({ at: Schema.Date }))

// A subquery is asked once, so that the index finds what is due; the function itself would be asked per row.
export const clockText = "(select clock_timestamp())"

export const ago = (sql: PgClient, millis: number) =>
  sql`${sql.literal(clockText)} - ${millis}::float8 * interval '1 millisecond'`

export const now = (sql: PgClient) => Effect.map(moment(sql`select clock_timestamp() as at`), ({ at }) => at)
