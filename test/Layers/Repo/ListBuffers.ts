import { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"

const read = Effect.gen(function* () {
  const sql = yield* PgClient
  yield* sql`select pg_stat_force_next_flush()`
  const [row] = yield* sql<{ buffers: number; scans: number }>`
    select sum(coalesce(heap_blks_hit, 0) + coalesce(heap_blks_read, 0) + coalesce(idx_blks_hit, 0)
        + coalesce(idx_blks_read, 0) + coalesce(toast_blks_hit, 0) + coalesce(toast_blks_read, 0))::int as buffers,
      (select seq_scan::int from pg_stat_user_tables where relname = 'runs') as scans
    from pg_statio_user_tables`
  return row ?? { buffers: Number.NaN, scans: Number.NaN }
})

/**
 * How many pages of tables and indexes a call of a repository reads, and how often all runs: by the counters of the
 * server, on the one connection that the client has.
 */
export const buffersOf = Effect.fnUntraced(function* <A, E, R>(call: Effect.Effect<A, E, R>) {
  // A session reads more with its first statement, of what it knows from then on.
  yield* call
  const before = yield* read
  const answer = yield* call
  const after = yield* read
  return { answer, buffers: after.buffers - before.buffers, scans: after.scans - before.scans }
})
