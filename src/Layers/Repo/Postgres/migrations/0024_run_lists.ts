/**
 * Indexes in which the runs of each list stand together in its order, and how many there are of each: lists read what
 * they show, whatever else there is. Where there are very many runs, an operator makes the indexes before, concurrently
 * (docs/deploy.md): then they are there.
 *
 * A run that is made, parked, over or gone is a row of `run_count_changes`, which nobody else waits for, whichever version
 * of the service it comes from. `fold_run_counts` adds them to `run_counts`, up to `folded_to`: so an old snapshot, which
 * keeps rows that are deleted, makes nobody read them. Ids are given before they can be seen: those up to `next_to` are
 * all there, or never will be, once nobody who was at work when they were given still is (`next_before`).
 */
const columns = ["total", "waiting_approval", "completed", "failed", "cancelled"]
const narrowing = ["project_id", "agent_id", "cron_job_id"]
const key = ["workspace_id", ...narrowing].join(", ")
const all = columns.join(", ")

const countedOf = (row: string) =>
  columns.map((column) => (column === "total" ? "1" : `(${row}.status = '${column.toUpperCase()}')::int`))

const keyOf = (row: string) =>
  `${row}.workspace_id, ${narrowing.map((column) => `${row}.${column}`).join(", ")}`

/** What lets go of something that is deleted is still where it was for all others. */
const isMoved = ["workspace_id", ...narrowing]
  .map((column) => `(new.${column} is not null and new.${column} is distinct from old.${column})`)
  .join(" or ")

/** Sums of what `from` has, for each that a list can be narrowed to; NULL: not narrowed by it. */
const summed = (from: string) => `
  select ${key}, ${columns.map((column) => `sum(${column})`).join(", ")} from (${from}) each
  group by workspace_id, cube (${narrowing.join(", ")})
  having ${narrowing.map((column) => `(grouping(${column}) = 1 or ${column} is not null)`).join(" and ")}`

export const indexes = {
  runs_by_status: `on runs (workspace_id, status, created_at desc, id desc)
    where kind = 'task' and status <> 'PENDING'`,
  runs_by_agent: `on runs (agent_id, kind, status, created_at desc, id desc) where agent_id is not null`,
  runs_by_cron_job: `on runs (cron_job_id, status, created_at desc, id desc) where cron_job_id is not null`,
  runs_by_project: `on runs (project_id, status, created_at desc, id desc)
    where kind = 'task' and project_id is not null`
}

export const statements = [
  `drop index runs_of_agent, runs_of_cron_job, runs_active_of_cron_job`,
  ...Object.entries(indexes).map(([name, definition]) => `create index if not exists ${name} ${definition}`),
  `create index memory_entries_by_category on memory_entries (workspace_id, category, created_at, id)`,
  `create table run_counts (
    workspace_id text not null references workspaces on delete cascade,
    project_id text references projects on delete cascade,
    agent_id text references agents on delete cascade,
    cron_job_id text references cron_jobs on delete cascade,
    ${columns.map((column) => `${column} bigint not null`).join(", ")},
    unique nulls not distinct (${key})
  ) with (fillfactor = 80)`,
  ...narrowing.map(
    (column) => `create index run_counts_${column} on run_counts (${column}) where ${column} is not null`
  ),
  `create table run_count_changes (
    id bigint generated always as identity primary key,
    workspace_id text not null,
    ${narrowing.map((column) => `${column} text`).join(", ")},
    ${columns.map((column) => `${column} integer not null`).join(", ")}
  ) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000)`,
  `create table run_count_folds (
    is_only boolean primary key default true check (is_only),
    folded_to bigint not null,
    next_to bigint not null,
    next_before xid8 not null
  )`,
  `create function note_made_run() returns trigger language plpgsql as $$
    begin
      insert into run_count_changes (${key}, ${all}) values (${keyOf("new")}, ${countedOf("new")});
      return null;
    end $$`,
  `create function note_changed_run() returns trigger language plpgsql as $$
    begin
      if ${isMoved} then
        insert into run_count_changes (${key}, ${all})
        values (${keyOf("old")}, ${countedOf("old").map((each) => `-${each}`)}),
          (${keyOf("new")}, ${countedOf("new")});
      else
        insert into run_count_changes (${key}, ${all})
        values (${keyOf("new")}, ${countedOf("new").map((made, n) => `${made} - ${countedOf("old")[n]}`)});
      end if;
      return null;
    end $$`,
  `create function note_gone_runs() returns trigger language plpgsql as $$
    begin
      insert into run_count_changes (${key}, ${all})
      select ${key}, ${countedOf("gone").map((each) => `-sum(${each})`)}
      from gone where kind = 'task' group by ${key};
      return null;
    end $$`,
  `create trigger note_made_run after insert on runs for each row
    when (new.kind = 'task') execute function note_made_run()`,
  `create trigger note_changed_run after update of status, ${key} on runs for each row
    when (new.kind = 'task' and (${isMoved} or old.status <> new.status
      and not (old.status in ('PENDING', 'RUNNING') and new.status in ('PENDING', 'RUNNING'))))
    execute function note_changed_run()`,
  `create trigger note_gone_runs after delete on runs referencing old table as gone
    for each statement execute function note_gone_runs()`,
  // Of what is gone nothing is counted: nobody can ask for it any more.
  `create function fold_run_counts() returns bigint language plpgsql as $$
    declare
      newest bigint;
      state run_count_folds;
      folded bigint := 0;
    begin
      select last_value into newest from run_count_changes_id_seq where is_called;
      if newest is null then return 0; end if;
      -- From here on this has a number of its own: whoever was given one of these ids has a lower one.
      select * into state from run_count_folds for update skip locked;
      if not found then
        insert into run_count_folds (folded_to, next_to, next_before) values (0, newest, pg_current_xact_id())
          on conflict do nothing;
        return 0;
      end if;
      if state.folded_to >= newest then return 0; end if;
      if state.next_to > state.folded_to then
        -- One that is still to come is that of another server, from which all of this was restored.
        if state.next_before > pg_snapshot_xmin(pg_current_snapshot())
          and state.next_before <= pg_snapshot_xmax(pg_current_snapshot()) then return 0; end if;
        with taken as (
          delete from run_count_changes where id <= state.next_to returning *
        ), named as (
          select w.id as workspace_id, p.id as project_id, a.id as agent_id, c.id as cron_job_id, ${all}
          from taken t join workspaces w on w.id = t.workspace_id left join projects p on p.id = t.project_id
            left join agents a on a.id = t.agent_id left join cron_jobs c on c.id = t.cron_job_id
        ), added as (
          insert into run_counts (${key}, ${all}) ${summed("select * from named")}
          on conflict (${key}) do update
          set ${columns.map((column) => `${column} = run_counts.${column} + excluded.${column}`).join(", ")}
        )
        select count(*) into folded from taken;
      end if;
      update run_count_folds set folded_to = greatest(folded_to, next_to), next_to = newest,
        next_before = pg_current_xact_id();
      return folded;
    end $$`,
  // Counts all anew. Whoever changes runs is kept out till the end.
  `create function recount_runs() returns void language plpgsql as $$
    begin
      lock table runs in share row exclusive mode;
      delete from run_counts;
      delete from run_count_changes;
      delete from run_count_folds;
      insert into run_counts (${key}, ${all}) ${summed(`
        select ${key}, ${columns
          .map((column) =>
            column === "total"
              ? "count(*) as total"
              : `count(*) filter (where status = '${column.toUpperCase()}') as ${column}`
          )
          .join(", ")} from runs where kind = 'task' group by ${key}`)};
    end $$`,
  `select recount_runs()`
]
