import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { RunStatus } from "../../../Schemas/Run.ts"
import { NumberedEvent } from "../../../Schemas/RunEvent.ts"
import { RunEventRepo } from "../../../Services/RunEventRepo.ts"
import type { Execution } from "../../../Services/RunRepo.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import { keeping } from "./EventBatches.ts"
import { isReadable } from "./Removed.ts"
import { firstRow, returnedRow, rows } from "./Rows.ts"

const Glance = Schema.Struct({ status: RunStatus, lastId: Schema.Int })
const glance = firstRow(Glance)
const glanceColumns = makeColumns(Glance, {
  lastId: {
    read: `coalesce((
      select last_id from run_events where run_id = runs.id order by first_id desc limit 1), 0)::float8`
  }
})
const batches = rows(Schema.Struct({ events: Schema.Array(NumberedEvent) }))

export const layer = Layer.effect(
  RunEventRepo,
  Effect.gen(function* () {
    const { query, sql } = yield* Database

    const owner = ({ epoch, id, worker }: Execution) => sql`
      select id from runs
      where id = ${id} and worker = ${worker} and epoch = ${epoch} and status = 'RUNNING' for share`

    return RunEventRepo.of({
      append: (execution, given, firstTokenAt = null) =>
        query(
          returnedRow(sql`
            with owner as (${owner(execution)}), spoken as (
              update runs set first_token_at = ${firstTokenAt}::timestamptz
              where id in (select id from owner) and first_token_at is null
                and ${firstTokenAt}::timestamptz is not null
            )${keeping(sql, "owner", given)}
            select id from owner`)
        ),
      read: (id, after, limit) =>
        query(
          Effect.map(
            batches(sql`
              select events from run_events
              where run_id = ${id} and last_id > ${after}::bigint and first_id >= coalesce((
                select max(first_id) from run_events
                where run_id = ${id} and first_id <= ${after}::bigint), 0)
                and ${isReadable(sql, id)}
              order by first_id limit ${limit}`),
            (found) => found.flatMap(({ events }) => events.filter((event) => event.id > after))
          )
        ),
      glance: (id) =>
        query(
          glance(sql`
            select ${glanceColumns.read()} from runs where id = ${id} and ${isReadable(sql, id)}`)
        ),
      truncate: (execution, from, to) =>
        query(
          returnedRow(sql`
            with owner as (${owner(execution)}), gone as (
              delete from run_events
              where run_id in (select id from owner) and first_id between ${from}::bigint and ${to}::bigint)
            select id from owner`)
        )
    })
  })
)
