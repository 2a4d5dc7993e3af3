/**
 * Where a workspace wants to be told of what happens. Secrets are sealed. How many there are is counted as all that has a
 * quota (migration 20), and what is marked as deleted is let go of as all such (migration 10).
 */
export const statements = [
  `create table if not exists webhooks (
    id text primary key,
    workspace_id text not null references workspaces on delete cascade,
    url text not null,
    description text,
    events jsonb not null,
    is_active boolean not null,
    disabled_at timestamptz,
    disabled_reason text,
    sealed_secret text not null,
    previous_sealed_secret text,
    previous_until timestamptz,
    failing_since timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz
  )`,
  `create index if not exists webhooks_of_workspace on webhooks (workspace_id, created_at, id)
    where deleted_at is null`,
  `create index if not exists webhooks_deleted on webhooks (deleted_at, id) where deleted_at is not null`,
  `insert into quota_counts (workspace_id, kind) select id, 'webhooks' from workspaces on conflict do nothing`,
  `create or replace function make_webhook_count() returns trigger language plpgsql as $$
    begin
      insert into quota_counts (workspace_id, kind) values (new.id, 'webhooks') on conflict do nothing;
      return null;
    end $$`,
  `create or replace trigger make_webhook_count after insert on workspaces for each row
    execute function make_webhook_count()`,
  ...(
    [
      ["insert", "new", "+"],
      ["delete", "old", "-"]
    ] as const
  ).flatMap(([event, rows, sign]) => [
    `create or replace function count_${event}_of_webhooks() returns trigger language plpgsql as $$
      begin
        update quota_counts c set count = c.count ${sign} changed.count
        from (
          select workspace_id, count(*) as count from changed_rows where deleted_at is null group by workspace_id
        ) changed where c.workspace_id = changed.workspace_id and c.kind = 'webhooks';
        return null;
      end $$`,
    `create or replace trigger count_${event} after ${event} on webhooks referencing ${rows} table as changed_rows
      for each statement execute function count_${event}_of_webhooks()`
  ]),
  `create or replace trigger count_marked after update of deleted_at on webhooks for each row
    when ((old.deleted_at is null) <> (new.deleted_at is null)) execute function count_marked('webhooks')`
]
