/** Where a workspace wants to be told of what happens. Secrets are sealed. */
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
    where deleted_at is null`
]
