/** The ledger of slots, and the missed ones that are still to be recorded. */
export const statements = [
  `create table cron_fires (
    cron_job_id text not null references cron_jobs on delete cascade,
    scheduled_at timestamptz not null,
    fired_at timestamptz not null,
    outcome text not null check (outcome in ('fired', 'overlap', 'missed', 'agent_inactive')),
    run_id text references runs on delete set null,
    primary key (cron_job_id, scheduled_at)
  )`,
  `create index cron_fires_by_age on cron_fires (scheduled_at)`,
  `create index cron_fires_of_run on cron_fires (run_id) where run_id is not null`,
  `create table cron_backlogs (
    cron_job_id text not null references cron_jobs on delete cascade,
    schedule text not null,
    timezone text not null,
    missed_from timestamptz not null,
    missed_until timestamptz not null,
    primary key (cron_job_id, missed_until)
  )`,
  `create index runs_active_of_cron_job on runs (cron_job_id)
    where cron_job_id is not null and status in ('PENDING', 'RUNNING', 'WAITING_APPROVAL')`
]
