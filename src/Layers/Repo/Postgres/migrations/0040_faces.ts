/**
 * What a turn is asked beside its conversation, what a client calls a conversation, and which conversations no list shows;
 * and agents by their names, which are models there
 * (CONTRACT.md section 14). Nodes of the version before know nothing of them, and answer what they know.
 */
export const statements = [
  `alter table runs add column if not exists input jsonb`,
  `alter table conversations add column if not exists chat_id text`,
  `alter table conversations add column if not exists is_hidden boolean not null default false`,
  `create unique index if not exists conversations_by_chat on conversations (workspace_id, owner_id, chat_id)
    where chat_id is not null and deleted_at is null`,
  `create index if not exists agents_by_name on agents (name, workspace_id) where deleted_at is null`
]
