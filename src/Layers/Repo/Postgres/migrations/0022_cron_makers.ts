/** Who answers for each cron job, null: unknown, as of those from before; and why one was stopped. No row is rewritten. */
export const statements = [
  `alter table cron_jobs add column created_by text references users on delete set null`,
  `alter table cron_jobs add column stopped_at timestamptz`,
  `alter table cron_jobs add column stop_reason text check (stop_reason in ('maker_left', 'maker_disabled'))`,
  `create index cron_jobs_of_maker on cron_jobs (created_by) where created_by is not null`
]
