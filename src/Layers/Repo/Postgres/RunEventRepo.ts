import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { RunId } from "../../../Schemas/Ids.ts"
import { RunStatus } from "../../../Schemas/Run.ts"
import { NumberedEvent } from "../../../Schemas/RunEvent.ts"
import { type Look, RunEventRepo } from "../../../Services/RunEventRepo.ts"
import type { Execution } from "../../../Services/RunRepo.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import { appending } from "./EventBatches.ts"
import { isReadable, isRunReadable } from "./Removed.ts"
import { returnedRow, rows } from "./Rows.ts"

/** From where on a look at many runs has no room for more, in bytes as they are stored. */
const mostBytes = 4 * 1024 * 1024

const Glance = Schema.Struct({ id: RunId, status: RunStatus, lastId: Schema.Int })
const glances = rows(Glance)
const glanceColumns = makeColumns(Glance, {
  lastId: {
    read: `coalesce((
      select last_id from run_events where run_id = runs.id order by first_id desc limit 1), 0)::float8`
  }
})
const batches = rows(Schema.Struct({ events: Schema.Array(NumberedEvent) }))
const looks = rows(
  Schema.Struct({
    n: Schema.Int,
    status: RunStatus,
    lastId: Schema.Int,
    batches: Schema.Int,
    events: Schema.NullOr(Schema.Array(NumberedEvent))
  })
)
const appended = rows(Schema.Struct({ n: Schema.Int, kept: Schema.Boolean }))

export const layer = Layer.effect(
  RunEventRepo,
  Effect.gen(function* () {
    const { query, sql } = yield* Database

    const owner = ({ epoch, id, worker }: Execution) => sql`
      select id from runs
      where id = ${id} and worker = ${worker} and epoch = ${epoch} and status = 'RUNNING' for share`

    /** Of the row of `id` and `after`: its batches with events behind that. */
    const behind = (id: string, after: string) => sql`
      run_id = ${sql.literal(id)} and last_id > ${sql.literal(after)} and first_id >= coalesce((
        select max(first_id) from run_events
        where run_id = ${sql.literal(id)} and first_id <= ${sql.literal(after)}), 0)`

    const looking = (readers: ReadonlyArray<{ readonly id: RunId; readonly after: number }>, limit: number) =>
      looks(sql`
        with asked as materialized (
          select * from jsonb_to_recordset(${sql.json(readers.map(({ after, id }, n) => ({ n, id, after })))})
            as a (n int, id text, after bigint)
        ), seen as materialized (
          select asked.n, asked.after, ${glanceColumns.read("runs")} from asked join runs on runs.id = asked.id
          where ${isRunReadable(sql)}
        )
        select n, status, "lastId", batches, case when before < ${mostBytes}::bigint then events end as events
        from (
          select seen.n, seen.status, seen."lastId", e.first_id, e.events,
            count(e.first_id) over (partition by seen.n)::int as batches,
            sum(pg_column_size(e.events)) over (order by seen.n, e.first_id) - pg_column_size(e.events) as before
          from seen left join lateral (
            select first_id, events from run_events
            where seen."lastId" > seen.after and ${behind("seen.id", "seen.after")}
            order by first_id limit ${limit + 1}) e on true
        ) told
        order by n, first_id`)

    return RunEventRepo.of({
      append: (writes) =>
        query(
          Effect.map(appended(appending(sql, writes)), (found) => {
            const kept = new Map(found.map((one) => [one.n, one.kept]))
            return writes.map((_, n) => (kept.has(n) ? (kept.get(n) === true ? "kept" : "busy") : "lost"))
          })
        ),
      read: (id, after, limit) =>
        query(
          Effect.map(
            batches(sql`
              select events from run_events, (select ${id}::text as id, ${after}::bigint as after) as asked
              where ${behind("asked.id", "asked.after")} and ${isReadable(sql, id)}
              order by first_id limit ${limit}`),
            (found) => found.flatMap(({ events }) => events.filter((event) => event.id > after))
          )
        ),
      look: (readers, limit) =>
        query(
          Effect.map(looking(readers, limit), (found) => {
            const answers = new Map<number, ReadonlyArray<(typeof found)[number]>>()
            for (const row of found) answers.set(row.n, [...(answers.get(row.n) ?? []), row])
            return readers.map(({ after }, n) => toLook(answers.get(n), after, limit))
          })
        ),
      glance: (ids) =>
        query(
          Effect.map(
            glances(sql`
              select ${glanceColumns.read("runs")} from runs
              join jsonb_array_elements_text(${sql.json(ids)}) as asked (id) on runs.id = asked.id
              where ${isRunReadable(sql)}`),
            (found) => new Map(found.map(({ id, lastId, status }) => [id, { status, lastId }]))
          )
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

/** Out of the rows of one reader: each has a batch, and says how many there are, up to one more than the limit. */
const toLook = (
  found: Effect.Success<ReturnType<typeof looks<never>>> | undefined,
  after: number,
  limit: number
): Look | undefined => {
  const [first] = found ?? []
  if (found === undefined || first === undefined) return undefined
  const given = found.slice(0, limit).flatMap(({ events }) => (events === null ? [] : [events]))
  return {
    status: first.status,
    lastId: first.lastId,
    events: given.flatMap((events) => events.filter((event) => event.id > after)),
    isWhole: given.length === first.batches
  }
}
