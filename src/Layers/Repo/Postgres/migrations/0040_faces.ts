/**
 * What a turn is asked beside its conversation, what a client calls a conversation, which conversations no list shows, and
 * agents by their names, which are models there (CONTRACT.md section 14). Nodes of the version before know nothing of them,
 * and answer what they know. No row is written again; of the indexes two have rows from the beginning: where there are very
 * many conversations, an operator makes column and index before (docs/deploy.md).
 */
export const statements = [
  `alter table runs add column if not exists input jsonb`,
  `alter table conversations add column if not exists chat_id text`,
  `alter table conversations add column if not exists is_hidden boolean not null default false`,
  `create unique index if not exists conversations_of_chat on conversations (workspace_id, owner_id, chat_id)
    where chat_id is not null and deleted_at is null`,
  // The hidden ones of a day are many more than a list shows, and newer.
  `create index if not exists conversations_shown on conversations (workspace_id, updated_at desc, id desc)
    where not is_hidden and deleted_at is null`,
  `create index if not exists conversations_hidden on conversations (updated_at, id)
    where is_hidden and deleted_at is null`,
  `create index if not exists agents_by_name on agents (name, workspace_id) where deleted_at is null`
]
