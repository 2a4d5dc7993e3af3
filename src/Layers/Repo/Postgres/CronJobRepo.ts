import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { AgentReference } from "../../../Schemas/Agent.ts"
import { StoredCronJob } from "../../../Schemas/CronJob.ts"
import type { CronJobId } from "../../../Schemas/Ids.ts"
import { CronJobRepo } from "../../../Services/CronJobRepo.ts"
import { makeColumns, referenceOf } from "./Columns.ts"
import { Database } from "./Database.ts"
import { firstRow, onlyRow, returnedRow, rows } from "./Rows.ts"

const job = firstRow(StoredCronJob)
const inserted = onlyRow(StoredCronJob)
const jobs = rows(StoredCronJob)
const columns = makeColumns(StoredCronJob, { agent: { read: referenceOf(AgentReference, "a") } })

const removedAtOnce = 5_000

export const layer = Layer.effect(
  CronJobRepo,
  Effect.gen(function* () {
    const { query, sql } = yield* Database

    const read = (from: "cron_jobs" | "changed") => sql`
      select ${columns.read("c")}
      from ${sql.literal(from)} c left join agents a on a.id = c.agent_id`

    /** Takes away one part of what hangs on a job; false when nothing is left. */
    const detach = (id: CronJobId) =>
      query(
        returnedRow(sql`
          with fires as (
            delete from cron_fires where cron_job_id = ${id} and scheduled_at in (
              select scheduled_at from cron_fires where cron_job_id = ${id} limit ${removedAtOnce})
            returning 1
          ), its_runs as (
            update runs set cron_job_id = null where id in (
              select id from runs where cron_job_id = ${id} and finished_at is not null limit ${removedAtOnce})
            returning 1
          )
          select from fires union all select from its_runs limit 1`)
      )

    return CronJobRepo.of({
      insert: (given) =>
        query(
          inserted(sql`
            with changed as (
              insert into cron_jobs ${sql.insert(columns.row(given))}
              returning *)
            ${read("changed")}`)
        ),
      find: (id) => query(job(sql`${read("cron_jobs")} where c.id = ${id}`)),
      lock: (id) => query(job(sql`${read("cron_jobs")} where c.id = ${id} for no key update of c`)),
      list: ({ projectId, workspaceId }) =>
        query(
          jobs(sql`
            ${read("cron_jobs")}
            where c.workspace_id = ${workspaceId}
            ${projectId === undefined ? sql.literal("") : sql`and c.project_id = ${projectId}`}
            order by c.created_at, c.id`)
        ),
      update: (id, patch, at) =>
        query(
          job(sql`
            with changed as (
              update cron_jobs set ${sql.update(columns.changes({ ...patch, updatedAt: at }))}
              where id = ${id} returning *)
            ${read("changed")}`)
        ),
      remove: (id) =>
        Effect.suspend(() => detach(id)).pipe(
          Effect.repeat({ while: (more) => more }),
          Effect.andThen(query(returnedRow(sql`delete from cron_jobs where id = ${id} returning id`)))
        )
    })
  })
)
