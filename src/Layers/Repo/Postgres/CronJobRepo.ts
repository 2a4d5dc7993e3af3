import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Fragment } from "effect/sql/Statement"
import { AgentReference } from "../../../Schemas/Agent.ts"
import { CronJob, StoredCronJob } from "../../../Schemas/CronJob.ts"
import { CronJobRepo } from "../../../Services/CronJobRepo.ts"
import { makeColumns, referenceOf } from "./Columns.ts"
import { Database } from "./Database.ts"
import { goneOf, orGone, orOnlyGone } from "./Named.ts"
import { setPolicy } from "./Policies.ts"
import { insertNaming } from "./Quotas.ts"
import { isThere } from "./Removed.ts"
import { firstRow, returnedRow } from "./Rows.ts"
import * as Slices from "./Slices.ts"

const job = firstRow(StoredCronJob)
const agent = { read: referenceOf(AgentReference, "a") }
const columns = makeColumns(StoredCronJob, { agent, policy: "json" })
const agentId = { read: "a.id" }
const shown = makeColumns(StoredCronJob, { agent, agentId, policy: "json" }).read("c")
const listed = makeColumns(CronJob, { agent, agentId })

export const layer = Layer.effect(
  CronJobRepo,
  Effect.gen(function* () {
    const database = yield* Database
    const { change, lookUp, query, sql } = database

    const joins = sql.literal("left join agents a on a.id = c.agent_id and a.deleted_at is null")
    const read = (from: "cron_jobs" | "changed") => sql`
      select ${shown} from ${sql.literal(from)} c ${joins}`

    const pages = Slices.makePages(
      database,
      {
        table: "cron_jobs",
        alias: "c",
        shown: listed.read("c"),
        joins,
        row: CronJob,
        least: listed.leastBytes("name", "description", "prompt"),
        json: listed.jsonBytes("c")
      },
      () => ["deleted_at is null"]
    )

    return CronJobRepo.of({
      ...pages,
      insert: (given, most) => {
        const { createdBy, workspaceId } = given
        const names = { ...given, member: createdBy === null ? null : { workspaceId, userId: createdBy } }
        return change((audit) =>
          job(
            insertNaming(sql, {
              table: "cron_jobs",
              quota: "cronJobs",
              row: columns.row(given),
              workspaceId,
              most,
              names,
              read: read("changed"),
              audit
            })
          ).pipe(orOnlyGone(sql, names))
        )
      },
      find: (id) => lookUp(job(sql`${read("cron_jobs")} where c.id = ${id} and c.deleted_at is null`)),
      lock: (id) =>
        query(
          job(sql`${read("cron_jobs")} where c.id = ${id} and c.deleted_at is null for no key update of c`)
        ),
      update: (id, patch, at) =>
        change((audit) =>
          job(sql`
            with ${goneOf(sql, patch)}, changed as (
              update cron_jobs set ${sql.update(columns.changes({ ...patch, updatedAt: at }))}
              where id = ${id} and deleted_at is null and not exists (select from gone) returning *)${audit.of("changed")}
            ${read("changed")}`).pipe(orGone(sql, patch, isThere(sql, "cron_jobs", id)))
        ),
      setPolicy: (id, policy, at) =>
        change((audit) => returnedRow(audit.with(setPolicy(sql, "cron_jobs", id, policy, at)))),
      stopOf: ({ userId, workspaceId }, reason, at) =>
        change((audit) => Effect.asVoid(stop(sql, { userId, workspaceId, reason, at }, audit.of("changed")))),
      remove: (id) =>
        change((audit) =>
          returnedRow(
            audit.with(sql`
            update cron_jobs set deleted_at = clock_timestamp(), next_fire_at = null, backfill_at = null
            where id = ${id} and deleted_at is null returning id`)
          )
        )
    })
  })
)

/** Stops the jobs that somebody answers for, in one workspace or in all. */
const stop = (
  sql: PgClient,
  {
    at,
    reason,
    userId,
    workspaceId
  }: {
    readonly userId: string
    readonly workspaceId: string | null
    readonly reason: string
    readonly at: Date
  },
  audit: Fragment
) => sql`
  with taken as (
    select id from cron_jobs
    where created_by = ${userId} and (is_active or backfill_at is not null) and deleted_at is null
    ${workspaceId === null ? sql.literal("") : sql`and workspace_id = ${workspaceId}`}
    order by id for no key update
  ), changed as (
    update cron_jobs set is_active = false, next_fire_at = null, backfill_at = null, updated_at = ${at},
      stopped_at = case when is_active then ${at} else stopped_at end,
      stop_reason = case when is_active then ${reason} else stop_reason end
    where id = any (array(select id from taken)) returning id, workspace_id
  )${audit}
  select from changed limit 1`
