/** Chat turns as runs of their own kind, and the events of runs. */
const counting = (
  name: string,
  changed: string
) => `create or replace function ${name}() returns trigger language plpgsql as $$
    begin
      with changed as materialized (
        select workspace_id, sum(waits) as waits, sum(runs) as runs from (${changed}) each
        group by workspace_id having sum(waits) <> 0 or sum(runs) <> 0
      ), locked as materialized (
        select workspace_id, waits, runs from run_slots join changed using (workspace_id)
        order by workspace_id for update of run_slots)
      update run_slots s
      set queued = s.queued + l.waits, running = s.running + l.runs,
        served_at = case when l.runs > 0 then clock_timestamp() else s.served_at end
      from locked l where s.workspace_id = l.workspace_id;
      return null;
    end $$`

const made = `select workspace_id, (status = 'PENDING')::int as waits, (status = 'RUNNING')::int as runs
          from made where kind = 'task'`
const gone = `select workspace_id, -(status = 'PENDING')::int as waits, -(status = 'RUNNING')::int as runs
          from gone where kind = 'task'`

export const statements = [
  `alter table runs add column kind text not null default 'task' check (kind in ('task', 'turn'))`,
  `alter table runs add column conversation_id text references conversations on delete cascade`,
  `alter table runs add column reply_id text`,
  `alter table runs add column error_code text`,
  `alter table runs add column pruned smallint not null default 0`,
  `alter table runs add check ((kind = 'turn') = (conversation_id is not null and reply_id is not null))`,
  // They have no events that could be forgotten.
  `update runs set finished_at = coalesce(finished_at, updated_at), pruned = 1
    where status in ('COMPLETED', 'FAILED', 'CANCELLED')`,
  counting("count_inserted_runs", made),
  counting("count_deleted_runs", gone),
  counting("count_updated_runs", `${made} union all ${gone}`),
  `drop index runs_of_workspace`,
  `create index runs_of_workspace on runs (workspace_id, created_at desc, id desc) where kind = 'task'`,
  `drop index runs_queued`,
  `create index runs_queued on runs (workspace_id, created_at, id) where status = 'PENDING' and kind = 'task'`,
  `create index turns_queued on runs (created_at, id) where status = 'PENDING' and kind = 'turn'`,
  `create index runs_of_conversation on runs (conversation_id) where conversation_id is not null`,
  `create index runs_unpruned on runs (pruned, finished_at) where pruned < 2 and finished_at is not null`,
  `create table run_events (
    run_id text not null references runs on delete cascade,
    first_id bigint not null,
    last_id bigint not null,
    events jsonb not null,
    primary key (run_id, first_id)
  )`,
  // A turn that is over, however it ended, frees its conversation.
  `create function end_turn() returns trigger language plpgsql as $$
    begin
      update conversations set turn_id = null where id = new.conversation_id and turn_id = new.id;
      return null;
    end $$`,
  `create trigger end_turn after update of status on runs for each row
    when (new.kind = 'turn' and new.status in ('COMPLETED', 'FAILED', 'CANCELLED'))
    execute function end_turn()`,
  `drop index conversations_answering`,
  `update conversations set turn_id = null where turn_id is not null`,
  `alter table conversations drop column turn_worker`,
  `alter table conversations drop column turn_until`
]
