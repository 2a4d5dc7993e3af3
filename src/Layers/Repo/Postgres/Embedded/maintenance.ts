import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import type { TableState } from "../../../../Schemas/DatabaseUpkeep.ts"
import type { Engine } from "./engine.ts"
import type { Database } from "./upkeep.ts"

/** No table that this database can hold takes longer. */
const statementMillis = 10 * 60_000

/** Runs something that may keep the session for longer than a request may. */
export const unhurried = <A, E, R>(engine: Engine, millis: number, effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const before = engine.batchLimitMillis
    engine.batchLimitMillis = Math.max(before, millis)
    return Effect.ensuring(
      effect,
      Effect.sync(() => {
        engine.batchLimitMillis = before
      })
    )
  })

/** Of a database what its upkeep asks and does, each in a turn of its own on the one connection. */
export const make = (engine: Engine, sql: PgClient): Database => {
  // Whoever has the connection has the engine alone: nobody else runs under the longer limit.
  const execute = (statement: string) =>
    Effect.scoped(
      Effect.flatMap(sql.reserve, (connection) =>
        unhurried(engine, statementMillis, connection.executeUnprepared(statement, [], undefined))
      )
    ).pipe(Effect.asVoid)

  const tables = sql<TableState>`
    select format('%I.%I', n.nspname, c.relname) as name, c.relkind = 't' as toast,
      pg_stat_get_live_tuples(c.oid)::float8 as live, pg_stat_get_dead_tuples(c.oid)::float8 as dead,
      pg_stat_get_mod_since_analyze(c.oid)::float8 as modified, pg_relation_size(c.oid)::float8 as bytes,
      pg_stat_get_last_vacuum_time(c.oid) is not null as known, age(c.relfrozenxid) as age
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 't', 'm') and c.relpersistence = 'p'`

  return {
    isRecovered: () => engine.isRecovered,
    position: sql<{ readonly wal: number; readonly redo: number }>`
      select (pg_current_wal_insert_lsn() - '0/0')::float8 as wal, (redo_lsn - '0/0')::float8 as redo
      from pg_control_checkpoint()`.pipe(Effect.map(([row]) => row ?? { wal: 0, redo: 0 })),
    wal: () => engine.wal,
    quietMillis: () => engine.quietMillis,
    checkpoint: execute("checkpoint"),
    // What is counted is kept back for a while, and a session that is never idle would not tell.
    tables: Effect.andThen(execute("select pg_stat_force_next_flush()"), tables),
    work: ({ analyze, name, vacuum }) => {
      if (!vacuum) return execute(`analyze ${name}`)
      return execute(`vacuum (process_toast false${analyze ? ", analyze" : ""}) ${name}`)
    }
  }
}
