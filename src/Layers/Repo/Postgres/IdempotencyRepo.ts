import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { StoredIdempotencyKey } from "../../../Schemas/Idempotency.ts"
import { IdempotencyRepo, type NewIdempotencyKey } from "../../../Services/IdempotencyRepo.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import { count, firstRow, onlyRow, returnedRow } from "./Rows.ts"

const stored = firstRow(StoredIdempotencyKey)
const columns = makeColumns(StoredIdempotencyKey, {})
/** Of what a statement says beside the row, which may be missing. */
const state = onlyRow(Schema.Struct({ free: Schema.Boolean, known: Schema.Boolean }))

/** Of another seed than the locks of conversations. */
const lockOf = (sql: PgClient, id: string) => sql`hashtextextended(${id}, 1)`

export const layer = Layer.effect(
  IdempotencyRepo,
  Effect.gen(function* () {
    const { query, sql } = yield* Database
    const selected = columns.read("k")
    const isKnown = sql.literal("k.expires_at > clock_timestamp()")
    const put = (
      { answer, id, request, sealed, turnId, userId, workspaceId }: NewIdempotencyKey,
      millis: number
    ) => sql`
      insert into idempotency_keys as k
        (id, user_id, workspace_id, request, answer, sealed, turn_id, created_at, expires_at)
      values (${id}, ${userId}, ${workspaceId}, ${request}, ${answer}, ${sealed}, ${turnId}, clock_timestamp(),
        clock_timestamp() + ${millis}::bigint * interval '1 millisecond')
      on conflict (id) do update set user_id = excluded.user_id, workspace_id = excluded.workspace_id,
        request = excluded.request, answer = excluded.answer, sealed = excluded.sealed, turn_id = excluded.turn_id,
        created_at = excluded.created_at, expires_at = excluded.expires_at`
    return IdempotencyRepo.of({
      // What commits between the look and the lock is not seen: then it is not inserted.
      take: (id) =>
        query(
          Effect.gen(function* () {
            const found = yield* sql`
              select pg_try_advisory_xact_lock(${lockOf(sql, id)}) as free, k.id is not null as known,
                ${selected}
              from (values (1)) one left join idempotency_keys k on k.id = ${id} and ${isKnown}`
            const { free, known } = yield* state(Effect.succeed(found))
            return { isFree: free, known: known ? yield* stored(Effect.succeed(found)) : Option.none() }
          })
        ),
      find: (id) =>
        query(stored(sql`select ${selected} from idempotency_keys k where k.id = ${id} and ${isKnown}`)),
      insert: (key, millis) =>
        query(returnedRow(sql`${put(key, millis)} where k.expires_at <= clock_timestamp() returning 1`)),
      replace: (key, millis) => query(Effect.asVoid(put(key, millis))),
      removeOf: (userId) => query(Effect.asVoid(sql`delete from idempotency_keys where user_id = ${userId}`)),
      prune: (limit) =>
        query(
          count(sql`
            with old as (
              delete from idempotency_keys where ctid = any(array(
                select ctid from idempotency_keys where expires_at <= now()
                order by expires_at limit ${limit} for update skip locked))
              returning 1)
            select count(*)::int as count from old`)
        )
    })
  })
)
