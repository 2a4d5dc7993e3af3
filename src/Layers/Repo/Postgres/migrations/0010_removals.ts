/**
 * What is deleted is marked first, and let go of by those that name it bit by bit. The indexes are empty but for
 * removals under way; no row is written again.
 */
const marked = ["agents", "provider_keys", "cron_jobs", "conversations"].flatMap((table) => [
  `alter table ${table} add column deleted_at timestamptz`,
  `create index ${table}_deleted on ${table} (deleted_at, id) where deleted_at is not null`
])

export const statements = [
  ...marked,
  `create index workspaces_of_provider_key on workspaces (default_provider_key_id)
    where default_provider_key_id is not null`
]
