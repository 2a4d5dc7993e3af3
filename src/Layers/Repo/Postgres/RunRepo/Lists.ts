import * as Effect from "effect/Effect"
import { Run, StoredRun } from "../../../../Schemas/Run.ts"
import { seen } from "../../../../Services/Pages.ts"
import type { RunFilter, RunRepo } from "../../../../Services/RunRepo.ts"
import { makeColumns } from "../Columns.ts"
import type { Database } from "../Database.ts"
import { isThere } from "../Removed.ts"
import { count } from "../Rows.ts"
import { runColumns } from "../RunColumns.ts"
import * as Slices from "../Slices.ts"

const listed = makeColumns(Run, {})

/** The lists of tasks, newest first. */
export const make = (
  database: Database["Service"]
): Pick<RunRepo["Service"], "list" | "extent" | "slice"> => {
  const { query, sql } = database
  const runs = Slices.makeAged(database, {
    table: "runs",
    alias: "r",
    shown: runColumns,
    row: StoredRun,
    least: listed.leastBytes("prompt", "output"),
    json: listed.jsonBytes("r")
  })

  const partOf = ({ agentId, cronJobId, projectId, status, workspaceId }: RunFilter) => {
    const scope = sql`kind = 'task' and workspace_id = ${workspaceId}`
    const where = sql.and([
      scope,
      ...(projectId === undefined ? [] : [sql`project_id = ${projectId}`]),
      ...(status === undefined ? [] : [sql`status = ${status}`]),
      ...(agentId === undefined ? [] : [sql`agent_id = ${agentId} and ${isThere(sql, "agents", agentId)}`]),
      ...(cronJobId === undefined
        ? []
        : [sql`cron_job_id = ${cronJobId} and ${isThere(sql, "cron_jobs", cronJobId)}`])
    ])
    return { scope, where, isDescending: true }
  }

  return {
    list: ({ after = null, limit, offset, ...filter }) => {
      const part = partOf(filter)
      return Effect.map(
        Effect.all({
          page: runs.page({ ...part, after, offset }, { until: null, limit }),
          total: query(count(sql`select count(*)::int as count from runs where ${part.where}`))
        }),
        ({ page, total }) => ({ runs: page.rows, next: page.next, total })
      )
    },
    extent: ({ after = null, limit, offset, ...filter }) =>
      runs.extent({ ...partOf(filter), after, offset }, limit),
    slice: (filter, range) => seen(runs.page({ ...partOf(filter), after: range.after }, range))
  }
}
