import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Backlog } from "../../../../Schemas/CronFire.ts"
import { RunId } from "../../../../Schemas/Ids.ts"
import type { CronFireRepo, Fires, NewFire } from "../../../../Services/CronFireRepo.ts"
import type { Database } from "../Database.ts"
import { rows } from "../Rows.ts"
import { insertRuns } from "../RunColumns.ts"

const made = rows(Schema.Struct({ id: RunId }))

/** As `s`. */
const slotRows = (sql: PgClient, slots: ReadonlyArray<NewFire>) => {
  const given = slots.map(({ cronJobId, outcome, run, scheduledAt }) => ({
    job: cronJobId,
    at: scheduledAt.toISOString(),
    // A node of the version before takes it for an overlap.
    outcome: outcome === "budget_exceeded" ? "overlap" : outcome,
    spent: outcome === "budget_exceeded",
    run: run?.id ?? null
  }))
  return sql`jsonb_to_recordset(${sql.json(given)}) as s(job text, at timestamptz, outcome text, spent boolean, run text)`
}

/** As `b`. */
const backlogRows = (sql: PgClient, backlogs: ReadonlyArray<Backlog>) => {
  const given = backlogs.map((backlog) => ({
    ...backlog,
    from: backlog.from.toISOString(),
    until: backlog.until.toISOString()
  }))
  return sql`
    jsonb_to_recordset(${sql.json(given)})
      as b("cronJobId" text, schedule text, timezone text, "from" timestamptz, until timestamptz)`
}

/** As `n`. */
const nextRows = (sql: PgClient, next: Fires["next"]) => {
  const given = next.map(({ cronJobId, nextFireAt }) => ({
    job: cronJobId,
    at: nextFireAt?.toISOString() ?? null
  }))
  return sql`jsonb_to_recordset(${sql.json(given)}) as n(job text, at timestamptz)`
}

/** What is written of due jobs, in one statement. */
export const make = ({ change, sql }: Database["Service"]): Pick<CronFireRepo["Service"], "record"> => ({
  record: ({ backlogs, firedAt, next, slots }) => {
    const runs = slots.flatMap(({ run }) => (run === null ? [] : [run]))
    // Says how few they are: of a set from JSON the planner expects too many for the index.
    const isMoved = sql.in(
      "id",
      next.map(({ cronJobId }) => cronJobId)
    )
    return change((audit) =>
      Effect.map(
        made(sql`
          with slots as materialized (
            select * from ${slotRows(sql, slots)}
          ), fired as (
            insert into cron_fires (cron_job_id, scheduled_at, fired_at, outcome, is_spent, run_id)
            select job, at, ${firedAt}::timestamptz, outcome, spent, run from slots order by job, at
            on conflict do nothing
            returning run_id
          ), left_over as (
            insert into cron_backlogs (cron_job_id, schedule, timezone, missed_from, missed_until)
            select * from ${backlogRows(sql, backlogs)}
            on conflict do nothing
          ), moved as (
            update cron_jobs set next_fire_at = n.at
            from ${nextRows(sql, next)}
            where cron_jobs.id = n.job and ${isMoved}
          ), made as (
            ${insertRuns(sql, runs, sql.literal("r.id in (select run_id from fired)"))}
            returning id)${audit.of("made")}
          select id from made`),
        (created) => created.map(({ id }) => id)
      )
    )
  }
})
