import * as PgClient from "@effect/sql-pg/PgClient"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { onDatabase } from "../../test/support/Durability.ts"

/** A snapshot that is held until it is told to end, as that of a backup is. */
export const heldSnapshot = async (url: string) => {
  const over = Deferred.makeUnsafe<void>()
  const begun = Deferred.makeUnsafe<void>()
  const held = Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`set transaction isolation level repeatable read`
        yield* sql`select count(*) from runs`
        yield* Deferred.succeed(begun, undefined)
        yield* Deferred.await(over)
      })
    )
  }).pipe(
    Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }), { local: true }),
    Effect.runPromise
  )
  await Promise.race([held, Effect.runPromise(Deferred.await(begun))])
  return {
    end: async () => {
      await Effect.runPromise(Deferred.succeed(over, undefined))
      await held
    }
  }
}

const fetched = (sql: PgClient.PgClient) =>
  Effect.map(
    sql<{ blocks: number }>`
      select sum(pg_stat_get_xact_blocks_fetched(oid))::int as blocks from pg_class where relkind in ('r', 'i', 't')`,
    ([row]) => row?.blocks ?? Number.NaN
  )

/** What the end of a run reads, its triggers included: of one that is put back. */
export const buffersOfFinish = (url: string): Promise<number> =>
  onDatabase(url, (sql) =>
    sql
      .withTransaction(
        Effect.gen(function* () {
          const [{ id = "" } = {}] = yield* sql<{ id: string }>`
            select id from runs where status = 'COMPLETED' and kind = 'task' order by created_at desc limit 1`
          yield* sql`update runs set status = 'RUNNING' where id = ${id}`
          const first = yield* fetched(sql)
          const second = yield* fetched(sql)
          yield* sql`update runs set status = 'COMPLETED' where id = ${id}`
          const third = yield* fetched(sql)
          return yield* Effect.fail(third - second - (second - first))
        })
      )
      .pipe(
        Effect.flip,
        Effect.flatMap((found) => (typeof found === "number" ? Effect.succeed(found) : Effect.die(found)))
      )
  )
