/** Tool calls that wait for somebody to allow them. */
export const statements = [
  `create table approvals (
    id text primary key,
    workspace_id text not null references workspaces on delete cascade,
    run_id text not null references runs on delete cascade,
    tool_call_id text not null,
    tool text not null,
    arguments jsonb not null,
    fingerprint text not null,
    status text not null check (status in ('PENDING', 'APPROVED', 'REJECTED', 'EXPIRED')),
    reason text,
    decided_by text references users on delete set null,
    decided_at timestamptz,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    unique (run_id, tool_call_id)
  )`,
  `create index approvals_waiting on approvals (workspace_id, created_at, id) where status = 'PENDING'`,
  `create index approvals_expiring on approvals (expires_at) where status = 'PENDING'`
]
