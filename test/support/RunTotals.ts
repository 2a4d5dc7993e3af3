import { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"

const columns = ["total", "waiting_approval", "completed", "failed", "cancelled"]
const each = "workspace_id, cube (project_id, agent_id, cron_job_id)"
const key = "workspace_id, project_id, agent_id, cron_job_id"
const isOne = ["project_id", "agent_id", "cron_job_id"]
  .map((column) => `(grouping(${column}) = 1 or ${column} is not null)`)
  .join(" and ")
const counted = columns.map((column) =>
  column === "total"
    ? "count(*) as total"
    : `count(*) filter (where status = '${column.toUpperCase()}') as ${column}`
)
const sums = columns.map((column) => `sum(${column}) as ${column}`)
const row = (of: string) => `(${columns.map((column) => `coalesce(${of}.${column}, 0)`)})`

/**
 * Which totals of the runs of a workspace, and of what they can be narrowed to, are not what a count says at the same
 * moment. Of what is deleted nobody can ask.
 */
export const wrongTotals = Effect.gen(function* () {
  const sql = yield* PgClient
  return yield* sql.unsafe<{ readonly problem: string }>(`
    with real as (
      select ${key}, ${counted} from runs where kind = 'task' group by ${each} having ${isOne}
    ), told as (
      select ${key}, ${sums} from (
        select ${key}, ${columns} from run_counts
        union all
        select ${key}, ${sums} from run_count_changes
        where id > coalesce((select folded_to from run_count_folds), 0) group by ${each} having ${isOne}
      ) both_kinds group by ${key}
    )
    select format('totals: %s, %s, %s, %s has %s, and is told as %s', coalesce(real.workspace_id, told.workspace_id),
      coalesce(real.project_id, told.project_id), coalesce(real.agent_id, told.agent_id),
      coalesce(real.cron_job_id, told.cron_job_id), ${row("real")}, ${row("told")}) as problem
    from real full join told on real.workspace_id = told.workspace_id
      and coalesce(real.project_id, '') = coalesce(told.project_id, '')
      and coalesce(real.agent_id, '') = coalesce(told.agent_id, '')
      and coalesce(real.cron_job_id, '') = coalesce(told.cron_job_id, '')
    where ${row("real")} <> ${row("told")}
      and exists (select from workspaces where id = coalesce(real.workspace_id, told.workspace_id))
      and (coalesce(real.agent_id, told.agent_id) is null or exists (
        select from agents where id = coalesce(real.agent_id, told.agent_id) and deleted_at is null))
      and (coalesce(real.cron_job_id, told.cron_job_id) is null or exists (
        select from cron_jobs where id = coalesce(real.cron_job_id, told.cron_job_id) and deleted_at is null))`)
})
