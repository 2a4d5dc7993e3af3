import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { StoredCronJob, type UpdateCronJob } from "../../../Schemas/CronJob.ts"
import type { CronJobId } from "../../../Schemas/Ids.ts"
import { CronJobRepo } from "../../../Services/CronJobRepo.ts"
import { Database } from "./Database.ts"
import { firstRow, onlyRow, returnedRow, rows } from "./Rows.ts"

const job = firstRow(StoredCronJob)
const inserted = onlyRow(StoredCronJob)
const jobs = rows(StoredCronJob)

/** Rows that one statement of a removal touches. */
const removedAtOnce = 5_000

export const layer = Layer.effect(
  CronJobRepo,
  Effect.gen(function* () {
    const { run, sql } = yield* Database

    const read = (from: "cron_jobs" | "changed") => sql`
      select c.id, c.workspace_id as "workspaceId", c.project_id as "projectId", c.name, c.description,
        c.schedule, c.prompt, c.timezone, c.is_active as "isActive", c.agent_id as "agentId",
        case when a.id is not null then json_build_object('id', a.id, 'name', a.name) end as "agent",
        c.next_fire_at as "nextFireAt", c.created_at as "createdAt", c.updated_at as "updatedAt"
      from ${sql.literal(from)} c left join agents a on a.id = c.agent_id`

    /** Takes away one part of what hangs on a job; false when nothing is left. */
    const detach = (id: CronJobId) =>
      run(
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
        run(
          inserted(sql`
            with changed as (
              insert into cron_jobs (id, workspace_id, project_id, agent_id, name, description, schedule,
                timezone, prompt, is_active, next_fire_at, created_at, updated_at)
              values (${given.id}, ${given.workspaceId}, ${given.projectId}, ${given.agentId}, ${given.name},
                ${given.description}, ${given.schedule}, ${given.timezone}, ${given.prompt},
                ${given.isActive}, ${given.nextFireAt}, ${given.createdAt}, ${given.updatedAt})
              returning *)
            ${read("changed")}`)
        ),
      find: (id) => run(job(sql`${read("cron_jobs")} where c.id = ${id}`)),
      lock: (id) => run(job(sql`${read("cron_jobs")} where c.id = ${id} for no key update of c`)),
      list: ({ projectId, workspaceId }) =>
        run(
          jobs(sql`
            ${read("cron_jobs")}
            where c.workspace_id = ${workspaceId}
            ${projectId === undefined ? sql.literal("") : sql`and c.project_id = ${projectId}`}
            order by c.created_at, c.id`)
        ),
      update: (id, patch, at) =>
        run(
          job(sql`
            with changed as (
              update cron_jobs set ${sql.update({ ...toColumns(patch), updated_at: at })}
              where id = ${id} returning *)
            ${read("changed")}`)
        ),
      remove: (id) =>
        Effect.suspend(() => detach(id)).pipe(
          Effect.repeat({ while: (more) => more }),
          Effect.andThen(run(returnedRow(sql`delete from cron_jobs where id = ${id} returning id`)))
        )
    })
  })
)

const toColumns = (patch: UpdateCronJob & { readonly nextFireAt?: Date | null }) => ({
  ...("name" in patch && { name: patch.name }),
  ...("description" in patch && { description: patch.description }),
  ...("agentId" in patch && { agent_id: patch.agentId }),
  ...("schedule" in patch && { schedule: patch.schedule }),
  ...("prompt" in patch && { prompt: patch.prompt }),
  ...("timezone" in patch && { timezone: patch.timezone }),
  ...("isActive" in patch && { is_active: patch.isActive }),
  ...("nextFireAt" in patch && { next_fire_at: patch.nextFireAt })
})
