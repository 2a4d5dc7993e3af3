/**
 * What a console shows that nothing kept: when executions of runs began and why, beside the first, which a run says
 * itself, so that a run of one costs nothing. Triggers write it, as a node of the version before changes runs too. And the
 * links that sign in to it.
 */
export const statements = [
  // `begun_at` is null until it begins. Of a run that was not to begin before a time, epoch 1 keeps that time.
  `create table if not exists run_executions (
    run_id text not null references runs on delete cascade,
    epoch integer not null,
    cause text not null,
    waited_since timestamptz not null,
    begun_at timestamptz,
    primary key (run_id, epoch)
  )`,
  `create or replace function note_waiting_run() returns trigger language plpgsql as $$
    begin
      insert into run_executions (run_id, epoch, cause, waited_since) values (new.id, new.epoch + 1,
        case old.status when 'PENDING' then 'scheduled' when 'WAITING_APPROVAL' then 'approval'
          when 'RUNNING' then 'handed_back' else 'retry' end,
        case old.status when 'PENDING' then old.not_before else clock_timestamp() end)
      on conflict (run_id, epoch) do update
        set cause = excluded.cause, waited_since = excluded.waited_since, begun_at = null;
      return null;
    end $$`,
  `create or replace trigger note_waiting_run after update of status, not_before on runs for each row
    when (new.status = 'PENDING' and (old.status <> 'PENDING' or old.not_before is not null and new.not_before is null))
    execute function note_waiting_run()`,
  `create or replace function note_begun_run() returns trigger language plpgsql as $$
    declare
      at constant timestamptz := clock_timestamp();
    begin
      if old.status = 'RUNNING' then
        insert into run_executions (run_id, epoch, cause, waited_since, begun_at)
          values (new.id, new.epoch, 'takeover', least(old.lease_until, at), at)
        on conflict (run_id, epoch) do nothing;
      else
        update run_executions set begun_at = case when old.started_at is null then new.started_at else at end
        where run_id = new.id and epoch = new.epoch;
      end if;
      return null;
    end $$`,
  `create or replace trigger note_begun_run after update of epoch on runs for each row
    when (new.status = 'RUNNING' and new.epoch > old.epoch and new.epoch > 1)
    execute function note_begun_run()`,
  // What signs a user in once is gone with that. The hash is the SHA-256 of its code.
  `create table if not exists sign_in_links (
    hash text primary key,
    user_id text not null references users on delete cascade,
    created_at timestamptz not null,
    expires_at timestamptz not null
  )`,
  `create index if not exists sign_in_links_of_user on sign_in_links (user_id)`,
  `create index if not exists sign_in_links_over on sign_in_links (expires_at)`
]
