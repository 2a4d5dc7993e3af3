/** The tables of the first release. One statement each: the driver takes no batches. */
export const statements = [
  `create table users (
    id text primary key,
    email text not null unique,
    created_at timestamptz not null
  )`,
  `create table tokens (
    id text primary key,
    user_id text not null references users on delete cascade,
    name text not null,
    hash text not null unique,
    created_at timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz
  )`,
  `create index tokens_of_user on tokens (user_id, created_at, id)`,
  `create table workspaces (
    id text primary key,
    name text not null,
    plan text not null check (plan in ('free', 'pro')),
    created_at timestamptz not null,
    updated_at timestamptz not null
  )`,
  `create table workspace_members (
    workspace_id text not null references workspaces on delete cascade,
    user_id text not null references users on delete cascade,
    role text not null check (role in ('owner', 'member')),
    created_at timestamptz not null,
    primary key (workspace_id, user_id)
  )`,
  `create index workspace_members_of_user on workspace_members (user_id)`,
  `create table projects (
    id text primary key,
    workspace_id text not null references workspaces on delete cascade,
    name text not null,
    created_at timestamptz not null
  )`,
  `create index projects_of_workspace on projects (workspace_id, created_at, id)`,
  `create table provider_keys (
    id text primary key,
    workspace_id text not null references workspaces on delete cascade,
    name text not null,
    provider text not null,
    model text not null,
    created_at timestamptz not null
  )`,
  `create index provider_keys_of_workspace on provider_keys (workspace_id, created_at, id)`,
  `create table agents (
    id text primary key,
    workspace_id text not null references workspaces on delete cascade,
    project_id text references projects on delete set null,
    name text not null,
    description text,
    system_prompt text,
    is_active boolean not null,
    provider_key_id text references provider_keys on delete set null,
    created_at timestamptz not null,
    updated_at timestamptz not null
  )`,
  `create index agents_of_workspace on agents (workspace_id, created_at, id)`,
  `create table conversations (
    id text primary key,
    workspace_id text not null references workspaces on delete cascade,
    project_id text references projects on delete set null,
    title text not null,
    agent_id text references agents on delete set null,
    owner_id text not null references users on delete cascade,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    turn_id text,
    turn_worker text,
    turn_until timestamptz
  )`,
  `create index conversations_of_workspace on conversations (workspace_id, updated_at desc, id desc)`,
  `create index conversations_answering on conversations (turn_worker) where turn_id is not null`,
  `create table messages (
    id text primary key,
    conversation_id text not null references conversations on delete cascade,
    position bigint generated always as identity,
    role text not null check (role in ('USER', 'ASSISTANT')),
    content text not null,
    created_at timestamptz not null
  )`,
  `create index messages_of_conversation on messages (conversation_id, position)`,
  `create table runs (
    id text primary key,
    workspace_id text not null references workspaces on delete cascade,
    project_id text references projects on delete set null,
    agent_id text references agents on delete set null,
    status text not null,
    prompt text not null,
    output text,
    error text,
    autonomy_level text not null,
    selected_provider text,
    selected_model text,
    provider_key_id text references provider_keys on delete set null,
    connector_ids jsonb,
    input_tokens integer not null default 0,
    output_tokens integer not null default 0,
    attempts integer not null,
    worker text,
    lease_until timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null
  )`,
  `create index runs_of_workspace on runs (workspace_id, created_at desc, id desc)`,
  `create index runs_unfinished on runs (created_at, id) where status in ('PENDING', 'RUNNING')`,
  `create table run_steps (
    run_id text not null references runs on delete cascade,
    index integer not null,
    step jsonb not null,
    created_at timestamptz not null default now(),
    primary key (run_id, index)
  )`,
  `create table memory_entries (
    id text primary key,
    workspace_id text not null references workspaces on delete cascade,
    project_id text references projects on delete cascade,
    key text not null,
    value text not null,
    category text not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    unique nulls not distinct (workspace_id, project_id, key)
  )`,
  `create index memory_entries_of_workspace on memory_entries (workspace_id, updated_at desc, id desc)`
]
