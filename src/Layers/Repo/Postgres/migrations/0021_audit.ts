/**
 * What was done, by ids alone. No foreign keys: an entry outlives what it names. Entries of one id about a user are in
 * the log of each of the user's workspaces.
 */
export const statements = [
  `create table audit_entries (
    id text not null,
    workspace_id text not null,
    at timestamptz not null,
    actor jsonb not null,
    action text not null,
    target_id text,
    request_id text,
    address text,
    primary key (workspace_id, id)
  )`,
  "create index audit_entries_of_age on audit_entries (at)"
]
