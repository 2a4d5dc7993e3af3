import type { PgClient } from "@effect/sql-pg/PgClient"
import type { EventBatch } from "../../../Schemas/RunEvent.ts"

/** As the statements below take them: NULL where there are none. */
export const toBatches = (batches: ReadonlyArray<EventBatch> = []) =>
  batches.length === 0
    ? null
    : batches.map((events) => ({
        first_id: events[0].id,
        last_id: events[events.length - 1]?.id ?? events[0].id,
        events
      }))

/**
 * `, kept_events as (…)`: keeps events with what the statement does for the run whose id is in the row of `owner`.
 * Batches that are there already stay as they are.
 */
export const keeping = (sql: PgClient, owner: string, batches?: ReadonlyArray<EventBatch>) => {
  const given = toBatches(batches)
  if (given === null) return sql.literal("")
  return sql`, kept_events as (
    insert into run_events (run_id, first_id, last_id, events)
    select o.id, b.first_id, b.last_id, b.events from ${sql.literal(owner)} o,
      jsonb_to_recordset(${sql.json(given)}) as b (first_id bigint, last_id bigint, events jsonb)
    on conflict do nothing)`
}

/** The same for many: those of the column `batches` of `given`, for the runs whose ids are in `owners`. */
export const keepingEach = (sql: PgClient, given: string, owners: string) =>
  sql.literal(`, kept_events as (
    insert into run_events (run_id, first_id, last_id, events)
    select o.id, b.first_id, b.last_id, b.events from ${owners} o join ${given} g on g.id = o.id,
      jsonb_to_recordset(g.batches) as b (first_id bigint, last_id bigint, events jsonb)
    on conflict do nothing)`)
