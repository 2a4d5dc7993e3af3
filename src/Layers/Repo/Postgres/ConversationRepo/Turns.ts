import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type ConversationId, RunId } from "../../../../Schemas/Ids.ts"
import type { ConversationRepo } from "../../../../Services/ConversationRepo.ts"
import * as Metrics from "../../../../Services/Metrics.ts"
import type { Database } from "../Database.ts"
import { count, firstRow, returnedRow } from "../Rows.ts"

const removed = firstRow(
  Schema.Struct({ turnId: Schema.NullOr(RunId) }).pipe(Schema.encodeKeys({ turnId: "turn" }))
)

/** What a turn that begins and the removal of its conversation both lock. */
export const turnsOf = (sql: PgClient, id: ConversationId) => sql`hashtextextended(${id}, 0)`

/** Which turn answers in a conversation, and the end of both. */
export const make = ({
  change,
  query,
  sql
}: Database["Service"]): Pick<ConversationRepo["Service"], "remove" | "forgetHidden" | "claimTurn"> => ({
  remove: (id) =>
    change((audit) =>
      sql.withTransaction(
        // Whoever ends a turn holds its run first and then the conversation: so does this. No turn may begin
        // meanwhile, of which it would hold the conversation first.
        Effect.gen(function* () {
          yield* sql`select pg_advisory_xact_lock(${turnsOf(sql, id)})`
          const ended = yield* sql`
            delete from runs where status in ('PENDING', 'RUNNING', 'WAITING_APPROVAL') and id = (
              select turn_id from conversations where id = ${id} and deleted_at is null) returning 1`
          const conversation = yield* removed(sql`
            with before as (
              select id, turn_id from conversations where id = ${id} and deleted_at is null for update
            ), changed as (
              update conversations set deleted_at = clock_timestamp(), turn_id = null from before
              where conversations.id = before.id returning before.id, before.turn_id as turn
            )${audit.of("changed")}
            select turn from changed`)
          return { conversation, ended: ended.length }
        })
      )
    ).pipe(
      Effect.tap(({ ended }) => Metrics.countEnds("turn", "CANCELLED", ended)),
      Effect.map(({ conversation }) => conversation)
    ),
  forgetHidden: (before, limit) =>
    query(
      count(sql`
        with old as materialized (
          select id from conversations
          where is_hidden and deleted_at is null and turn_id is null and updated_at < ${before}
          order by updated_at, id limit ${limit} for update skip locked
        ), turns as (
          delete from runs where conversation_id in (select id from old)
        ), said as (
          delete from messages where conversation_id in (select id from old)
        ), gone as (
          delete from conversations where id in (select id from old)
        )
        select count(*)::int as count from old`)
    ),
  claimTurn: (id, turnId) =>
    query(
      returnedRow(sql`
        with beginning as materialized (select pg_advisory_xact_lock_shared(${turnsOf(sql, id)}))
        update conversations set turn_id = ${turnId} from beginning
        where id = ${id} and turn_id is null and deleted_at is null returning id`)
    )
})
