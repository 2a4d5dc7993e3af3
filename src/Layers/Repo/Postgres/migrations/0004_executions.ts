/**
 * Executions that are fenced by an epoch, and how many runs of each workspace wait and run: kept by triggers
 * in the statement that changes a run, so that a claim can count by locking one row.
 */
export const statements = [
  `alter table runs add column epoch integer not null default 0`,
  `alter table runs add column crashes integer not null default 0`,
  `alter table runs add column started_at timestamptz`,
  `alter table runs add column first_token_at timestamptz`,
  `alter table runs add column finished_at timestamptz`,
  `alter table run_steps add column epoch integer not null default 0`,
  `create table run_slots (
    workspace_id text primary key references workspaces on delete cascade,
    queued integer not null default 0,
    running integer not null default 0,
    served_at timestamptz not null default '-infinity'
  )`,
  `create index run_slots_waiting on run_slots (running, served_at) where queued > 0`,
  `insert into run_slots (workspace_id, queued, running)
    select w.id, count(r.id) filter (where r.status = 'PENDING'), count(r.id) filter (where r.status = 'RUNNING')
    from workspaces w left join runs r on r.workspace_id = w.id group by w.id`,
  `create function make_run_slots() returns trigger language plpgsql as $$
    begin
      insert into run_slots (workspace_id) values (new.id);
      return null;
    end $$`,
  `create trigger make_run_slots after insert on workspaces for each row execute function make_run_slots()`,
  `create function count_run_slots() returns trigger language plpgsql as $$
    declare
      waits integer := 0;
      runs integer := 0;
    begin
      if tg_op <> 'INSERT' then
        waits := waits - (old.status = 'PENDING')::int;
        runs := runs - (old.status = 'RUNNING')::int;
      end if;
      if tg_op <> 'DELETE' then
        waits := waits + (new.status = 'PENDING')::int;
        runs := runs + (new.status = 'RUNNING')::int;
      end if;
      if waits <> 0 or runs <> 0 then
        update run_slots
        set queued = queued + waits, running = running + runs,
          served_at = case when runs > 0 then clock_timestamp() else served_at end
        where workspace_id = coalesce(new.workspace_id, old.workspace_id);
      end if;
      return null;
    end $$`,
  `create trigger count_run_slots after insert or delete or update of status on runs
    for each row execute function count_run_slots()`,
  `drop index runs_unfinished`,
  `create index runs_queued on runs (workspace_id, created_at, id) where status = 'PENDING'`,
  `create index runs_leased on runs (lease_until) where status = 'RUNNING'`,
  `create index runs_of_worker on runs (worker) where status = 'RUNNING'`
]
