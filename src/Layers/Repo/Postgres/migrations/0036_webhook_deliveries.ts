/**
 * The outbox of webhooks: an event is written with what it tells of, and a delivery for each webhook that is to be told.
 */
export const statements = [
  `create table if not exists webhook_events (
    id text primary key,
    workspace_id text not null references workspaces on delete cascade,
    type text not null,
    at timestamptz not null,
    facts jsonb not null,
    traceparent text
  )`,
  `create table if not exists webhook_deliveries (
    id text primary key,
    event_id text not null references webhook_events on delete cascade,
    webhook_id text not null references webhooks on delete cascade,
    status text not null default 'pending',
    attempts integer not null default 0,
    next_at timestamptz,
    leased_until timestamptz,
    last_at timestamptz,
    last_status_code integer,
    last_error text,
    last_millis integer,
    created_at timestamptz not null
  )`
]
