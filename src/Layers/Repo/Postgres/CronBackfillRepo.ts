import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { CronBackfillState } from "../../../Schemas/CronBackfill.ts"
import { Backlog } from "../../../Schemas/CronFire.ts"
import { CronBackfillRepo } from "../../../Services/CronBackfillRepo.ts"
import { makeColumns } from "./Columns.ts"
import * as Looks from "./CronBackfillRepo/Looks.ts"
import { ago } from "./CronFireRepo/Clock.ts"
import { Database } from "./Database.ts"
import { onlyRow, rows } from "./Rows.ts"

const backlogs = rows(Backlog)
const backlogColumns = makeColumns(Backlog, {
  from: { read: "missed_from" },
  until: { read: "missed_until" }
}).read()
const slots = rows(Schema.Struct({ slot: Schema.Date }))
const queued = onlyRow(Schema.Struct({ queued: Schema.Int, waiting: Schema.Int }))
const state = onlyRow(CronBackfillState)

export const layer = Layer.effect(
  CronBackfillRepo,
  Effect.gen(function* () {
    const database = yield* Database
    const { change, query, sql } = database

    return CronBackfillRepo.of({
      backlogs: (id) =>
        query(backlogs(sql`select ${backlogColumns} from cron_backlogs where cron_job_id = ${id}`)),
      missed: (id, { from, to }, limit) =>
        query(
          Effect.map(
            slots(sql`
              select scheduled_at as slot from cron_fires
              where cron_job_id = ${id} and scheduled_at >= ${from} and scheduled_at < ${to} and outcome = 'missed'
              order by scheduled_at limit ${limit}`),
            (found) => found.map(({ slot }) => slot)
          )
        ),
      queue: (id, given, keepMillis) =>
        change((audit) =>
          Effect.andThen(
            // What a stop has left behind waits no more.
            sql`
              delete from cron_backfills
              where cron_job_id = ${id} and exists (select from cron_jobs where id = ${id} and backfill_at is null)`,
            queued(sql`
              with queued as (
                insert into cron_backfills (cron_job_id, scheduled_at)
                select ${id}, slot::timestamptz
                from jsonb_array_elements_text(${sql.json(given.map((slot) => slot.toISOString()))}) as s(slot)
                where slot::timestamptz >= ${ago(sql, keepMillis)} and not exists (
                  select from cron_fires
                  where cron_job_id = ${id} and scheduled_at = slot::timestamptz and outcome = 'fired')
                on conflict do nothing
                returning cron_job_id as id
              ), looked as (
                update cron_jobs set backfill_at = coalesce(backfill_at, clock_timestamp())
                where id = ${id} and exists (select from queued)
              )${audit.of("queued")}
              select (select count(*)::int from queued) as queued, (select count(*)::int from queued)
                + (select count(*)::int from cron_backfills where cron_job_id = ${id}) as waiting`)
          )
        ),
      cancel: (id) =>
        change((audit) =>
          Effect.asVoid(sql`
            with cancelled as (
              update cron_jobs set backfill_at = null where id = ${id} and backfill_at is not null returning id
            ), gone as (
              delete from cron_backfills where cron_job_id = ${id}
            )${audit.of("cancelled")}
            select from cancelled`)
        ),
      state: (id) =>
        query(
          state(sql`
            select count(*)::int as waiting, min(scheduled_at) as next
            from cron_backfills b join cron_jobs c on c.id = b.cron_job_id and c.backfill_at is not null
            where b.cron_job_id = ${id}`)
        ),
      ...Looks.make(database)
    })
  })
)
