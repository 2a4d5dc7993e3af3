/**
 * By which token another was made: it is revoked with it, over any number of generations. The trigger holds the row of
 * the parent when it looks for what that made, each generation with a look of its own: one that is being made meanwhile
 * has locked its parent and is waited for, or waits and finds it revoked (`TokenRepo.insert`). A recursive query would
 * look at all of them once, before it waits. The loop needs no stack, however long the chain is.
 */
export const statements = [
  `alter table tokens add column parent_id text references tokens on delete cascade`,
  `create index tokens_of_parent on tokens (parent_id) where parent_id is not null`,
  `create index tokens_over on tokens (least(expires_at, revoked_at))
    where least(expires_at, revoked_at) is not null`,
  `create function revoke_made_tokens() returns trigger language plpgsql as $$
    declare made text[] := array[new.id];
    begin
      while made is not null loop
        with revoked as (
          update tokens set revoked_at = new.revoked_at
          where parent_id = any (made) and revoked_at is null returning id
        )
        select array_agg(id) into made from revoked;
      end loop;
      return null;
    end $$`,
  `create trigger revoke_made_tokens after update of revoked_at on tokens for each row
    when (old.revoked_at is null and new.revoked_at is not null and pg_trigger_depth() = 0)
    execute function revoke_made_tokens()`
]
