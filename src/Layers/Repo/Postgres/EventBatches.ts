import type { PgClient } from "@effect/sql-pg/PgClient"
import type { EventBatch } from "../../../Schemas/RunEvent.ts"
import type { EventWrite } from "../../../Services/RunEventRepo.ts"

const rowOf = (events: EventBatch) => ({
  first_id: events[0].id,
  last_id: events[events.length - 1]?.id ?? events[0].id,
  events
})

/** As the statements below take them: NULL where there are none. */
export const toBatches = (batches: ReadonlyArray<EventBatch> = []) =>
  batches.length === 0 ? null : batches.map(rowOf)

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

/**
 * Keeps what many executions told: a row for each that may write, by its number; of those whose row is locked nothing
 * is kept. It waits for no row, so it holds up nobody who has locked one and waits for another.
 */
export const appending = (sql: PgClient, writes: ReadonlyArray<EventWrite>) => {
  const executions = writes.map(({ execution: { epoch, id, worker }, firstTokenAt }, n) => ({
    n,
    id,
    worker,
    epoch,
    first_token_at: firstTokenAt
  }))
  const batches = writes.flatMap(({ batches, execution: { id } }, n) =>
    batches.map((events) => ({ n, id, ...rowOf(events) }))
  )
  // Of a hash: planners know nothing of how many there are, and would compare each with each.
  const isOwned = (table: string) => sql`((${sql.literal(table)}.n in (select n from owner)) is true)`
  const isOurs = sql`runs.worker = given.worker and runs.epoch = given.epoch and runs.status = 'RUNNING'`
  return sql`
    with given as materialized (
      select * from jsonb_to_recordset(${sql.json(executions)})
        as g (n int, id text, worker text, epoch int, first_token_at timestamptz)
    ), owner as materialized (
      select given.n, runs.id from given join runs on runs.id = given.id where ${isOurs}
      for share of runs skip locked
    ), spoken as (
      update runs set first_token_at = given.first_token_at from given
      where runs.id = given.id and ${isOwned("given")}
        and runs.first_token_at is null and given.first_token_at is not null
    ), kept_events as (
      insert into run_events (run_id, first_id, last_id, events)
      select b.id, b.first_id, b.last_id, b.events from jsonb_to_recordset(${sql.json(batches)})
        as b (n int, id text, first_id bigint, last_id bigint, events jsonb)
      where ${isOwned("b")}
      on conflict do nothing)
    select n, true as kept from owner
    union all
    select given.n, false from given join runs on runs.id = given.id where ${isOurs} and not ${isOwned("given")}`
}
