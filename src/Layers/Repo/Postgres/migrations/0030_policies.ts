/** What agents and cron jobs may do, and what each run took of that when it was made. Null: nothing is said. */
export const statements = ["agents", "cron_jobs", "runs"].map(
  (table) => `alter table ${table} add column policy jsonb`
)
