/**
 * Who made each workspace, and how many turns of each wait and run, as of tasks. `owner_slots` counts how often a run of
 * somebody's workspaces has started: whoever starts one locks that row, and so knows what others started since the
 * moment that a statement sees. Those that end don't touch it.
 */
const counting = (
  name: string,
  changed: string
) => `create or replace function ${name}() returns trigger language plpgsql as $$
    begin
      with changed as materialized (
        select workspace_id, kind, sum(waits) as waits, sum(runs) as runs from (${changed}) each
        group by workspace_id, kind having sum(waits) <> 0 or sum(runs) <> 0
      ), locked as materialized (
        select workspace_id, kind, run_slots.owner_id, waits, runs
        from run_slots join changed using (workspace_id, kind)
        order by workspace_id, kind for update of run_slots
      ), counted as (
        update run_slots s
        set queued = s.queued + l.waits, running = s.running + l.runs,
          served_at = case when l.runs > 0 then clock_timestamp() else s.served_at end
        from locked l where s.workspace_id = l.workspace_id and s.kind = l.kind
      ), starts as materialized (
        select owner_id, kind, sum(runs) as runs from locked where runs > 0 group by owner_id, kind
      ), owners as materialized (
        select owner_id, kind, starts.runs from owner_slots join starts using (owner_id, kind)
        order by owner_id, kind for update of owner_slots)
      update owner_slots o set started = o.started + s.runs
      from owners s where o.owner_id = s.owner_id and o.kind = s.kind;
      return null;
    end $$`

const made = `select workspace_id, kind, (status = 'PENDING')::int as waits, (status = 'RUNNING')::int as runs
          from made`
const gone = `select workspace_id, kind, -(status = 'PENDING')::int as waits, -(status = 'RUNNING')::int as runs
          from gone`

export const statements = [
  `alter table workspaces add column created_by text references users on delete set null`,
  `create index workspaces_of_maker on workspaces (created_by) where created_by is not null`,
  `update workspaces w set created_by = (
    select m.user_id from workspace_members m where m.workspace_id = w.id and m.role = 'owner'
    order by m.created_at, m.user_id limit 1)`,
  `create table owner_slots (
    owner_id text not null references users on delete cascade,
    kind text not null check (kind in ('task', 'turn')),
    started bigint not null default 0,
    primary key (owner_id, kind)
  )`,
  `insert into owner_slots (owner_id, kind)
    select distinct created_by, kind from workspaces, (values ('task'), ('turn')) kinds (kind)
    where created_by is not null`,
  `alter table run_slots add column kind text not null default 'task' check (kind in ('task', 'turn'))`,
  `alter table run_slots alter column kind drop default`,
  `alter table run_slots add column owner_id text`,
  `alter table run_slots drop constraint run_slots_pkey`,
  `alter table run_slots add primary key (workspace_id, kind)`,
  `insert into run_slots (workspace_id, kind, queued, running)
    select w.id, 'turn', count(r.id) filter (where r.status = 'PENDING'), count(r.id) filter (where r.status = 'RUNNING')
    from workspaces w
    left join runs r on r.workspace_id = w.id and r.kind = 'turn' and r.status in ('PENDING', 'RUNNING')
    group by w.id`,
  `update run_slots s set owner_id = w.created_by from workspaces w where w.id = s.workspace_id`,
  `drop index run_slots_waiting`,
  `create index run_slots_waiting on run_slots (kind, running, served_at) where queued > 0`,
  `create index run_slots_running on run_slots (kind, owner_id) where running > 0`,
  `create or replace function make_run_slots() returns trigger language plpgsql as $$
    begin
      insert into run_slots (workspace_id, kind, owner_id)
        values (new.id, 'task', new.created_by), (new.id, 'turn', new.created_by);
      insert into owner_slots (owner_id, kind)
        select new.created_by, kind from (values ('task'), ('turn')) kinds (kind) where new.created_by is not null
        on conflict do nothing;
      return null;
    end $$`,
  // A workspace whose maker is gone has no limit but its own.
  `create function move_run_slots() returns trigger language plpgsql as $$
    begin
      insert into owner_slots (owner_id, kind)
        select new.created_by, kind from (values ('task'), ('turn')) kinds (kind) where new.created_by is not null
        on conflict do nothing;
      update run_slots set owner_id = new.created_by where workspace_id = new.id;
      return null;
    end $$`,
  `create trigger move_run_slots after update of created_by on workspaces for each row
    when (old.created_by is distinct from new.created_by) execute function move_run_slots()`,
  counting("count_inserted_runs", made),
  counting("count_deleted_runs", gone),
  counting("count_updated_runs", `${made} union all ${gone}`),
  `drop index runs_queued`,
  `create index runs_queued on runs (workspace_id, kind, created_at, id) where status = 'PENDING'`,
  `drop index turns_queued`
]
