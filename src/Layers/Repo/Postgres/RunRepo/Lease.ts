import type { PgClient } from "@effect/sql-pg/PgClient"

/** When a lease that begins now ends, by the clock of the database. */
export const leaseEnd = (sql: PgClient, millis: number) =>
  sql`clock_timestamp() + ${millis}::int * interval '1 millisecond'`
