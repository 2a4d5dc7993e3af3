import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { DueBackfill } from "../../../../Schemas/CronBackfill.ts"
import { RunId } from "../../../../Schemas/Ids.ts"
import type { CronBackfillRepo, LookedAt } from "../../../../Services/CronBackfillRepo.ts"
import { clockText } from "../CronFireRepo/Clock.ts"
import * as Due from "../CronFireRepo/Due.ts"
import type { Database } from "../Database.ts"
import { mostOf } from "../Quotas.ts"
import { rows } from "../Rows.ts"
import { insertRuns } from "../RunColumns.ts"

const due = rows(Schema.Struct({ ...DueBackfill.fields, at: Schema.Date }))
const made = rows(Schema.Struct({ id: RunId }))

/** As `l`. */
const lookedRows = (sql: PgClient, looked: ReadonlyArray<LookedAt>) => {
  const given = looked.map(({ again, cronJobId, run, scheduledAt }) => ({
    job: cronJobId,
    slot: scheduledAt.toISOString(),
    run: run?.id ?? null,
    again: again.toISOString()
  }))
  return sql`jsonb_to_recordset(${sql.json(given)}) as l(job text, slot timestamptz, run text, again timestamptz)`
}

/** Which jobs are looked at, and what becomes of them, in one statement. */
export const make = ({
  change,
  query,
  sql
}: Database["Service"]): Pick<CronBackfillRepo["Service"], "claim" | "record"> => ({
  claim: (limit, most) => {
    const wanted = {
      where: sql`backfill_at <= ${sql.literal(clockText)} and deleted_at is null
        and (next_fire_at is null or next_fire_at > ${sql.literal(clockText)})`,
      by: sql.literal("backfill_at")
    }
    return query(
      Due.claimJobs(sql, wanted, limit, (isOne) =>
        due(sql`
          select ${Due.backfillColumns}, (
            select ${mostOf(sql, most)} - s.queued from workspaces w join run_slots s on s.workspace_id = w.id
            where w.id = c.workspace_id and s.kind = 'task' limit 1)::float8 as room
          from cron_jobs c where ${isOne} order by backfill_at, id`)
      )
    )
  },
  record: (at, looked) => {
    const runs = looked.flatMap(({ run }) => (run === null ? [] : [run]))
    const isLooked = sql.in(
      "c.id",
      looked.map(({ cronJobId }) => cronJobId)
    )
    return change((audit) =>
      Effect.map(
        made(sql`
          with looked as materialized (
            select * from ${lookedRows(sql, looked)}
          ), backfilled as (
            insert into cron_fires as f (cron_job_id, scheduled_at, fired_at, outcome, run_id, is_backfilled)
            select job, slot, ${at}::timestamptz, 'fired', run, true from looked
            where run is not null order by job, slot
            on conflict (cron_job_id, scheduled_at) do update
              set fired_at = excluded.fired_at, outcome = 'fired', run_id = excluded.run_id, is_backfilled = true
              where f.outcome <> 'fired'
            returning run_id
          ), gone as (
            delete from cron_backfills b using looked l
            where b.cron_job_id = l.job and b.scheduled_at = l.slot and l.run is not null
          ), moved as (
            update cron_jobs c set backfill_at = case
              when l.run is not null and not exists (
                select from cron_backfills b where b.cron_job_id = c.id and b.scheduled_at <> l.slot) then null
              when l.run is null or exists (select from backfilled f where f.run_id = l.run) then l.again
              else ${at}::timestamptz end
            from looked l where c.id = l.job and ${isLooked}
          ), made as (
            ${insertRuns(sql, runs, sql.literal("r.id in (select run_id from backfilled)"))}
            returning id)${audit.of("made")}
          select id from made`),
        (created) => created.map(({ id }) => id)
      )
    )
  }
})
