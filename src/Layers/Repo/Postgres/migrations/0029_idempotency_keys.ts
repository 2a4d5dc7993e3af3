/**
 * Which keys were used for requests, and what was answered. Rows are written once and gone after a day: what is read is
 * one row by its digest. Without foreign keys: a key locks nobody's user.
 */
export const statements = [
  `create table idempotency_keys (
    id text primary key,
    user_id text not null,
    workspace_id text,
    request text not null,
    answer text,
    sealed text,
    turn_id text,
    created_at timestamptz not null,
    expires_at timestamptz not null
  )`,
  "create index idempotency_keys_of_user on idempotency_keys (user_id)",
  "create index idempotency_keys_of_age on idempotency_keys (expires_at)"
]
