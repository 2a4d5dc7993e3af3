/**
 * The counts of runs in a form in which their changes cost the same however long somebody holds a snapshot, which keeps
 * all versions of a row. No index has a column that each change writes, so that a change stays on its page and is
 * cleaned up there; and each 64th change gives the row a new generation, the last part of its key: behind the newest
 * generation nobody looks at what is older. A statement that reads one row reads `order by generation desc limit 1`.
 *
 * The counts themselves, who keeps them and who locks them, are as before: a version of the service before counts right
 * beside this one. A statement in a function sees what was committed before it, so a row is locked by one and changed
 * by the next.
 */
const changesOfGeneration = 64

const turned = `changes = s.changes + 1,
        generation = s.generation + (s.changes % ${changesOfGeneration} = ${changesOfGeneration - 1})::int`

const counting = (
  name: string,
  changed: string
) => `create or replace function ${name}() returns trigger language plpgsql as $$
    declare
      change record;
      has_started boolean := false;
    begin
      for change in
        select workspace_id, kind, sum(waits)::int as waits, sum(runs)::int as runs from (${changed}) each
        group by workspace_id, kind having sum(waits) <> 0 or sum(runs) <> 0 order by workspace_id, kind
      loop
        perform from run_slots where workspace_id = change.workspace_id and kind = change.kind
        order by generation desc limit 1 for update;
        update run_slots s
        set queued = s.queued + change.waits, running = s.running + change.runs,
          is_waiting = s.queued + change.waits > 0,
          served_at = case when change.runs > 0 then clock_timestamp() else s.served_at end, ${turned}
        where s.ctid = (
          select t.ctid from run_slots t where t.workspace_id = change.workspace_id and t.kind = change.kind
          order by t.generation desc limit 1);
        has_started := has_started or change.runs > 0;
      end loop;
      if not has_started then return null; end if;
      for change in
        select w.created_by as owner_id, kind, sum(runs)::int as runs
        from (
          select workspace_id, kind, sum(runs) as runs from (${changed}) each
          group by workspace_id, kind having sum(runs) > 0
        ) starts join workspaces w on w.id = workspace_id
        where w.created_by is not null group by w.created_by, kind order by w.created_by, kind
      loop
        perform from owner_slots where owner_id = change.owner_id and kind = change.kind
        order by generation desc limit 1 for update;
        update owner_slots s set started = s.started + change.runs, ${turned}
        where s.ctid = (
          select t.ctid from owner_slots t where t.owner_id = change.owner_id and t.kind = change.kind
          order by t.generation desc limit 1);
      end loop;
      return null;
    end $$`

const made = `select workspace_id, kind, (status = 'PENDING')::int as waits, (status = 'RUNNING')::int as runs
          from made`
const gone = `select workspace_id, kind, -(status = 'PENDING')::int as waits, -(status = 'RUNNING')::int as runs
          from gone`

/** Room on each page for the next version of a row. */
const roomy = (table: string) => `alter table ${table} set (fillfactor = 60)`

export const statements = [
  `alter table run_slots add column is_waiting boolean not null default false`,
  `alter table run_slots add column changes bigint not null default 0`,
  `alter table run_slots add column generation bigint not null default 0`,
  `alter table owner_slots add column changes bigint not null default 0`,
  `alter table owner_slots add column generation bigint not null default 0`,
  roomy("run_slots"),
  roomy("owner_slots"),
  `drop index run_slots_waiting`,
  `drop index run_slots_running`,
  `alter table run_slots drop constraint run_slots_pkey`,
  `alter table owner_slots drop constraint owner_slots_pkey`,
  `update run_slots set is_waiting = true where queued > 0`,
  `alter table run_slots add primary key (workspace_id, kind, generation)`,
  `alter table owner_slots add primary key (owner_id, kind, generation)`,
  `create index run_slots_waiting on run_slots (kind, workspace_id) where is_waiting`,
  // There is one row of each, whatever its generation, which the key does not say: who makes the first is alone.
  `create function make_owner_slots(of_owner text) returns void language plpgsql as $$
    begin
      if of_owner is null or exists (select from owner_slots where owner_id = of_owner) then return; end if;
      perform pg_advisory_xact_lock(hashtextextended(of_owner, 2));
      insert into owner_slots (owner_id, kind)
        select of_owner, kind from (values ('task'), ('turn')) kinds (kind)
        where not exists (select from owner_slots where owner_id = of_owner);
    end $$`,
  `create or replace function make_run_slots() returns trigger language plpgsql as $$
    begin
      insert into run_slots (workspace_id, kind, owner_id)
        values (new.id, 'task', new.created_by), (new.id, 'turn', new.created_by);
      perform make_owner_slots(new.created_by);
      return null;
    end $$`,
  `create or replace function move_run_slots() returns trigger language plpgsql as $$
    begin
      perform make_owner_slots(new.created_by);
      update run_slots set owner_id = new.created_by where workspace_id = new.id;
      return null;
    end $$`,
  counting("count_inserted_runs", made),
  counting("count_deleted_runs", gone),
  counting("count_updated_runs", `${made} union all ${gone}`)
]
