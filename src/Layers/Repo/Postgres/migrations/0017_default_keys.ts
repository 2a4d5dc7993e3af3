/**
 * What answered so far where a workspace had no default goes on answering: its oldest key. From now on a default is
 * only what an owner made one.
 */
export const statements = [
  `update workspaces w set default_provider_key_id = (
      select k.id from provider_keys k
      where k.workspace_id = w.id and k.deleted_at is null order by k.created_at, k.id limit 1)
    where default_provider_key_id is null`
]
