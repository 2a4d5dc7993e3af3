import type { PgClient } from "@effect/sql-pg/PgClient"
import type { Fragment } from "effect/sql/Statement"
import { RunStatus } from "../../../../Schemas/Run.ts"
import type { RunFilter } from "../../../../Services/RunRepo.ts"

/** What a list can be narrowed by, beside the status: the one of which there are the fewest runs comes first. */
const narrowing = [
  // A turn is none of a job.
  { field: "cronJobId", column: "cron_job_id", kind: "", table: "cron_jobs", isMarkable: true },
  { field: "agentId", column: "agent_id", kind: "and kind = 'task'", table: "agents", isMarkable: true },
  {
    field: "projectId",
    column: "project_id",
    kind: "and kind = 'task'",
    table: "projects",
    isMarkable: false
  }
] as const

/** Of each, the column and what it has to be. */
export const narrowingOf = (filter: RunFilter) =>
  narrowing.map((each) => ({ ...each, id: filter[each.field] }))

/** Whether all that a list is narrowed by is there, in its workspace: else nothing matches, whatever `narrowed` finds. */
export const isThere = (sql: PgClient, filter: RunFilter): Fragment =>
  sql.and(
    narrowingOf(filter).flatMap(({ id, isMarkable, table }) =>
      id === undefined
        ? []
        : [
            sql`exists (
              select from ${sql(table)} where id = ${id} and workspace_id = ${filter.workspaceId}
                ${sql.literal(isMarkable ? "and deleted_at is null" : "")})`
          ]
    )
  )

/**
 * Tasks that match where `isThere`, as a condition and its parts (`Slices.Part`): of one status each, of the first of all that they are
 * narrowed by, stand together in its index; what else they are narrowed by is looked at in each of these rows. A status
 * is no parameter, of which no plan could know that it is in a partial index.
 */
export const narrowed = (
  sql: PgClient,
  filter: RunFilter
): { readonly where: Fragment; readonly parts: ReadonlyArray<Fragment> } => {
  const { status, workspaceId } = filter
  const [first, ...others] = narrowingOf(filter).flatMap(({ column, id, kind }) =>
    id === undefined ? [] : [{ column, id, kind }]
  )
  const statuses = status !== undefined ? [status] : first === undefined ? [] : RunStatus.literals
  return {
    where: sql.and(
      first === undefined
        ? [sql`kind = 'task' and workspace_id = ${workspaceId}`]
        : [
            sql`${sql(first.column)} = ${first.id} ${sql.literal(first.kind)}`,
            // Of this no plan expects that so few match that all have to be read and sorted, nor finds another index.
            ...others.map(({ column, id }) => sql`case when ${sql(column)} = ${id} then true else false end`)
          ]
    ),
    parts: statuses.map((each) => sql`status = ${sql.literal(`'${each}'`)}`)
  }
}
