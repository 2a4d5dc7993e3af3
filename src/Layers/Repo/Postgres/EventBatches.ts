import type { PgClient } from "@effect/sql-pg/PgClient"
import type { EventBatch } from "../../../Schemas/RunEvent.ts"

/**
 * `, kept_events as (…)`: keeps events with what the statement does for the run whose id is in the row of `owner`.
 * Batches that are there already stay as they are.
 */
export const keeping = (sql: PgClient, owner: string, batches: ReadonlyArray<EventBatch> = []) => {
  if (batches.length === 0) return sql.literal("")
  const given = batches.map((events) => ({
    first_id: events[0].id,
    last_id: events[events.length - 1]?.id ?? events[0].id,
    events
  }))
  return sql`, kept_events as (
    insert into run_events (run_id, first_id, last_id, events)
    select o.id, b.first_id, b.last_id, b.events from ${sql.literal(owner)} o,
      jsonb_to_recordset(${sql.json(given)}) as b (first_id bigint, last_id bigint, events jsonb)
    on conflict do nothing)`
}
