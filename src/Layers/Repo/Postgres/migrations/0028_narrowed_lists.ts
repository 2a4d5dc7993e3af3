/**
 * Indexes in which the rows of a list stand together in its order also where it is narrowed to a project: else a
 * page of few rows reads all that the workspace has. Rows without a project are in none of them.
 */
const ofProject = ["agents", "connectors", "cron_jobs", "memory_entries"].map(
  (table) => `create index if not exists ${table}_of_project
    on ${table} (workspace_id, project_id, created_at, id) where project_id is not null`
)

export const statements = [
  ...ofProject,
  `create index if not exists conversations_of_project
    on conversations (workspace_id, project_id, updated_at desc, id desc) where project_id is not null`
]
