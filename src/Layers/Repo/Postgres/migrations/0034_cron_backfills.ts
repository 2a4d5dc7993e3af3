/**
 * Slots that wait to be made up, and when their job is looked at next: null where none waits, whatever is left of
 * others. A slot that was made up is `fired` to nodes of the version before. The end of a run of such a job has it
 * looked at at once; it waits for nobody who has locked the job.
 */
export const statements = [
  `create table if not exists cron_backfills (
    cron_job_id text not null references cron_jobs on delete cascade,
    scheduled_at timestamptz not null,
    primary key (cron_job_id, scheduled_at)
  )`,
  `alter table cron_fires add column if not exists is_backfilled boolean not null default false`,
  `alter table cron_jobs add column if not exists backfill_at timestamptz`,
  `create index if not exists cron_jobs_backfill on cron_jobs (backfill_at)
    where backfill_at is not null and deleted_at is null`,
  `create or replace function look_for_backfill() returns trigger language plpgsql as $$
    begin
      update cron_jobs set backfill_at = clock_timestamp() where id in (
        select id from cron_jobs where id = new.cron_job_id and backfill_at > clock_timestamp()
        for no key update skip locked);
      if found then perform pg_notify('agentd', '{"type":"cron"}'); end if;
      return null;
    end $$`,
  `drop trigger if exists look_for_backfill on runs`,
  `create trigger look_for_backfill after update of status on runs for each row
    when (new.cron_job_id is not null and old.status in ('PENDING', 'RUNNING', 'WAITING_APPROVAL')
      and new.status in ('COMPLETED', 'FAILED', 'CANCELLED'))
    execute function look_for_backfill()`
]
