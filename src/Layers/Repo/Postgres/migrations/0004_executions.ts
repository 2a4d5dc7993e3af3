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
  `create function count_inserted_runs() returns trigger language plpgsql as $$
    begin
      with changed as materialized (
        select workspace_id, sum(waits) as waits, sum(runs) as runs from (select workspace_id, (status = 'PENDING')::int as waits, (status = 'RUNNING')::int as runs from made) each
        group by workspace_id having sum(waits) <> 0 or sum(runs) <> 0
      ), locked as materialized (
        select workspace_id, waits, runs from run_slots join changed using (workspace_id)
        order by workspace_id for update of run_slots)
      update run_slots s
      set queued = s.queued + l.waits, running = s.running + l.runs,
        served_at = case when l.runs > 0 then clock_timestamp() else s.served_at end
      from locked l where s.workspace_id = l.workspace_id;
      return null;
    end $$`,
  `create function count_deleted_runs() returns trigger language plpgsql as $$
    begin
      with changed as materialized (
        select workspace_id, sum(waits) as waits, sum(runs) as runs from (select workspace_id, -(status = 'PENDING')::int as waits, -(status = 'RUNNING')::int as runs from gone) each
        group by workspace_id having sum(waits) <> 0 or sum(runs) <> 0
      ), locked as materialized (
        select workspace_id, waits, runs from run_slots join changed using (workspace_id)
        order by workspace_id for update of run_slots)
      update run_slots s
      set queued = s.queued + l.waits, running = s.running + l.runs,
        served_at = case when l.runs > 0 then clock_timestamp() else s.served_at end
      from locked l where s.workspace_id = l.workspace_id;
      return null;
    end $$`,
  `create function count_updated_runs() returns trigger language plpgsql as $$
    begin
      with changed as materialized (
        select workspace_id, sum(waits) as waits, sum(runs) as runs from (select workspace_id, (status = 'PENDING')::int as waits, (status = 'RUNNING')::int as runs from made union all select workspace_id, -(status = 'PENDING')::int as waits, -(status = 'RUNNING')::int as runs from gone) each
        group by workspace_id having sum(waits) <> 0 or sum(runs) <> 0
      ), locked as materialized (
        select workspace_id, waits, runs from run_slots join changed using (workspace_id)
        order by workspace_id for update of run_slots)
      update run_slots s
      set queued = s.queued + l.waits, running = s.running + l.runs,
        served_at = case when l.runs > 0 then clock_timestamp() else s.served_at end
      from locked l where s.workspace_id = l.workspace_id;
      return null;
    end $$`,
  `create trigger count_inserted_runs after insert on runs referencing new table as made
    for each statement execute function count_inserted_runs()`,
  `create trigger count_deleted_runs after delete on runs referencing old table as gone
    for each statement execute function count_deleted_runs()`,
  `create trigger count_updated_runs after update on runs referencing old table as gone new table as made
    for each statement execute function count_updated_runs()`,
  `drop index runs_unfinished`,
  `create index runs_queued on runs (workspace_id, created_at, id) where status = 'PENDING'`,
  `create index runs_leased on runs (lease_until) where status = 'RUNNING'`,
  `create index runs_of_worker on runs (worker) where status = 'RUNNING'`
]
