/**
 * Every node hears of whoever may do less than before (`Services/Rights.ts`), with the commit of what takes it away,
 * whichever program does that: nodes remember for a moment what a user may do. Tokens that are over already and are
 * tidied away are no news.
 */
export const statements = [
  `create function tell_rights() returns trigger language plpgsql as $$
    begin
      perform pg_notify('agentd', json_build_object('type', 'rights', 'userId', to_jsonb(old) ->> tg_argv[0])::text);
      return null;
    end $$`,
  `create trigger tell_revoked after update of revoked_at on tokens for each row
    when (old.revoked_at is null and new.revoked_at is not null) execute function tell_rights('user_id')`,
  `create trigger tell_removed after delete on tokens for each row
    when (old.revoked_at is null and (old.expires_at is null or old.expires_at > now()))
    execute function tell_rights('user_id')`,
  `create trigger tell_disabled after update of disabled_at, deleted_at on users for each row
    when (old.disabled_at is distinct from new.disabled_at or old.deleted_at is distinct from new.deleted_at)
    execute function tell_rights('id')`,
  `create trigger tell_role after update of role on workspace_members for each row
    when (old.role is distinct from new.role) execute function tell_rights('user_id')`,
  `create trigger tell_left after delete on workspace_members for each row execute function tell_rights('user_id')`
]
