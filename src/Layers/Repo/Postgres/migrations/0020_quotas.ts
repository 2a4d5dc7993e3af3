/**
 * How many of each kind a workspace has, and how many bytes they are: kept by triggers in the statement that changes
 * them, whichever version of the service that comes from, so that who makes one more counts by locking one row. What
 * is marked as deleted does not count. The triggers come first: they keep writers out till all is counted.
 */
const marked = { agents: "agents", cronJobs: "cron_jobs", providerKeys: "provider_keys" }
const tables = { ...marked, connectors: "connectors", memoryEntries: "memory_entries", projects: "projects" }
const kinds = Object.keys(tables).map((kind) => `('${kind}')`)

const there = (table: string) => (Object.values(marked).includes(table) ? "where deleted_at is null" : "")
const bytesIn = (table: string) => (table === "memory_entries" ? "sum(octet_length(value))" : "0")

const counting = (kind: string, table: string) =>
  (
    [
      ["insert", "new", "+"],
      ["delete", "old", "-"]
    ] as const
  ).flatMap(([event, rows, sign]) => [
    `create function count_${event}_of_${table}() returns trigger language plpgsql as $$
      begin
        update quota_counts c set count = c.count ${sign} changed.count, bytes = c.bytes ${sign} changed.bytes
        from (
          select workspace_id, count(*) as count, ${bytesIn(table)} as bytes
          from changed_rows ${there(table)} group by workspace_id
        ) changed where c.workspace_id = changed.workspace_id and c.kind = '${kind}';
        return null;
      end $$`,
    `create trigger count_${event} after ${event} on ${table} referencing ${rows} table as changed_rows
      for each statement execute function count_${event}_of_${table}()`
  ])

const counted = (kind: string, table: string) =>
  `update quota_counts c set count = found.count, bytes = found.bytes
    from (
      select workspace_id, count(*) as count, ${bytesIn(table)} as bytes
      from ${table} ${there(table)} group by workspace_id
    ) found where c.workspace_id = found.workspace_id and c.kind = '${kind}'`

export const statements = [
  `create table quota_counts (
    workspace_id text not null references workspaces on delete cascade,
    kind text not null,
    count bigint not null default 0,
    bytes bigint not null default 0,
    primary key (workspace_id, kind)
  )`,
  `create function make_quota_counts() returns trigger language plpgsql as $$
    begin
      insert into quota_counts (workspace_id, kind) select new.id, kind from (values ${kinds}) kinds (kind);
      return null;
    end $$`,
  `create trigger make_quota_counts after insert on workspaces for each row execute function make_quota_counts()`,
  `insert into quota_counts (workspace_id, kind) select id, kind from workspaces, (values ${kinds}) kinds (kind)`,
  ...Object.entries(tables).flatMap(([kind, table]) => counting(kind, table)),
  `create function count_marked() returns trigger language plpgsql as $$
    begin
      update quota_counts set count = count + (new.deleted_at is null)::int - (old.deleted_at is null)::int
      where workspace_id = new.workspace_id and kind = tg_argv[0];
      return null;
    end $$`,
  ...Object.entries(marked).map(
    ([kind, table]) => `create trigger count_marked after update of deleted_at on ${table} for each row
      when ((old.deleted_at is null) <> (new.deleted_at is null)) execute function count_marked('${kind}')`
  ),
  `create function count_memory_bytes() returns trigger language plpgsql as $$
    begin
      update quota_counts set bytes = bytes + octet_length(new.value) - octet_length(old.value)
      where workspace_id = new.workspace_id and kind = 'memoryEntries';
      return null;
    end $$`,
  `create trigger count_bytes after update of value on memory_entries for each row
    when (octet_length(old.value) <> octet_length(new.value)) execute function count_memory_bytes()`,
  ...Object.entries(tables).map(([kind, table]) => counted(kind, table)),
  // A statement that waits for a lock still sees what was there before: what it is called for has to be read behind it.
  `create function locked_memory(in_workspace text, in_project text, of_key text)
    returns table (entries bigint, bytes bigint, known integer) language plpgsql as $$
    begin
      perform from quota_counts c where c.workspace_id = in_workspace and c.kind = 'memoryEntries' for update;
      return query select c.count, c.bytes, (
        select octet_length(e.value) from memory_entries e
        where e.workspace_id = in_workspace and e.key = of_key and e.project_id is not distinct from in_project)
      from quota_counts c where c.workspace_id = in_workspace and c.kind = 'memoryEntries';
    end $$`,
  `create index workspace_members_owners on workspace_members (user_id) where role = 'owner'`,
  `create index tokens_in_use on tokens (user_id, coalesce(expires_at, 'infinity')) where revoked_at is null`
]
