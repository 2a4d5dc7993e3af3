/**
 * Runs that are not to begin before a time: PENDING with `not_before`, which is null again once they are due. Until then
 * they are `scheduled` and not `queued` in `run_slots`, and not in the index of those that may be claimed. `runs_queued`
 * stays as it is: lists read it, and the version of the service before, which claims by it. That knows nothing of the
 * column, and so the database itself keeps a run from beginning before its time.
 */
const changesOfGeneration = 64

const turned = `changes = s.changes + 1,
        generation = s.generation + (s.changes % ${changesOfGeneration} = ${changesOfGeneration - 1})::int`

/** As in migration 25, and what is scheduled besides. */
const counting = (
  name: string,
  changed: string
) => `create or replace function ${name}() returns trigger language plpgsql as $$
    declare
      change record;
      has_started boolean := false;
    begin
      for change in
        select workspace_id, kind, sum(waits)::int as waits, sum(is_later)::int as is_later, sum(runs)::int as runs
        from (${changed}) each
        group by workspace_id, kind having sum(waits) <> 0 or sum(is_later) <> 0 or sum(runs) <> 0
        order by workspace_id, kind
      loop
        perform from run_slots where workspace_id = change.workspace_id and kind = change.kind
        order by generation desc limit 1 for update;
        update run_slots s
        set queued = s.queued + change.waits, scheduled = s.scheduled + change.is_later,
          running = s.running + change.runs, is_waiting = s.queued + change.waits > 0,
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

const counted = (table: string, sign = "") => `select workspace_id, kind,
          ${sign}(status = 'PENDING' and not_before is null)::int as waits,
          ${sign}(status = 'PENDING' and not_before is not null)::int as is_later,
          ${sign}(status = 'RUNNING')::int as runs
          from ${table}`

const made = counted("made")
const gone = counted("gone", "-")

export const indexes = {
  runs_waiting: `on runs (workspace_id, kind, created_at, id) where status = 'PENDING' and not_before is null`,
  runs_scheduled: `on runs (not_before) where status = 'PENDING' and not_before is not null`
}

export const statements = [
  `alter table runs add column if not exists not_before timestamptz`,
  `alter table run_slots add column scheduled integer not null default 0`,
  ...Object.entries(indexes).map(([name, definition]) => `create index if not exists ${name} ${definition}`),
  counting("count_inserted_runs", made),
  counting("count_deleted_runs", gone),
  counting("count_updated_runs", `${made} union all ${gone}`),
  `create function keep_scheduled_run() returns trigger language plpgsql as $$
    begin
      return null;
    end $$`,
  `create trigger keep_scheduled_run before update of status on runs for each row
    when (old.status = 'PENDING' and new.status = 'RUNNING' and new.not_before is not null)
    execute function keep_scheduled_run()`
]
