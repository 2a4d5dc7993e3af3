/**
 * Who tells that a limit of a month is reached (docs/adr/0032-webhook-events.md): whoever books what reaches it, sets it below what
 * is booked, or is refused because of it, as after a webhook was made.
 */
export const statements = [
  // Once for each value that a limit has in a month.
  `create table if not exists told_budgets (
    workspace_id text not null references workspaces on delete cascade,
    month date not null,
    reached text not null,
    amount bigint not null,
    primary key (workspace_id, month, reached, amount)
  )`,
  // Two that book at once do not see each other: behind the lock the later one sees both. Nobody waits who has not to tell.
  `create or replace function tell_budget(given text) returns void language plpgsql as $$
    declare
      this_month constant date := date_trunc('month', clock_timestamp() at time zone 'UTC')::date;
      wanting constant text[] := webhooks_wanting(given, 'budget.reached');
      budget workspace_budgets;
      s record;
      reached record;
    begin
      if wanting = '{}' or not exists (
        select from workspace_budgets b, lateral (values
          ('monthlyUsd', b.monthly_nanos), ('monthlyTokens', b.monthly_tokens)) u (name, value)
        where b.workspace_id = given and u.value is not null and not exists (
          select from told_budgets t where t.workspace_id = given and t.month = this_month
            and t.reached = u.name and t.amount = u.value)
      ) then return; end if;
      select * into budget from workspace_budgets where workspace_id = given for no key update;
      select * into s from budget_standing(given);
      for reached in
        select name, value from (values
          (1, 'monthlyUsd', budget.monthly_nanos, s.used_nanos::numeric + s.lost_nanos),
          (2, 'monthlyTokens', budget.monthly_tokens, s.used_tokens::numeric + s.lost_tokens)
        ) l (place, name, value, spent) where l.spent >= l.value order by l.place
      loop
        insert into told_budgets values (given, s.month, reached.name, reached.value) on conflict do nothing;
        if found then
          delete from told_budgets where workspace_id = given and month < s.month;
          perform tell_webhooks(wanting, given, 'budget.reached', jsonb_build_object(
            'workspaceId', given, 'limit', reached.name, 'amount', reached.value, 'month', to_char(s.month, 'YYYY-MM'),
            'monthlyNanos', budget.monthly_nanos, 'monthlyTokens', budget.monthly_tokens,
            'usedTokens', s.used_tokens, 'usedNanos', s.used_nanos, 'lostTokens', s.lost_tokens,
            'lostNanos', s.lost_nanos, 'reservedTokens', s.reserved_tokens, 'reservedNanos', s.reserved_nanos), null);
        end if;
      end loop;
    end $$`,
  `create or replace function tell_booked() returns trigger language plpgsql as $$
    declare
      booked record;
    begin
      for booked in
        select distinct workspace_id from made join workspace_budgets b using (workspace_id)
        where coalesce(b.monthly_nanos, b.monthly_tokens) is not null order by workspace_id
      loop
        perform tell_budget(booked.workspace_id);
      end loop;
      return null;
    end $$`,
  `create or replace trigger tell_booked after insert on usage_changes referencing new table as made
    for each statement execute function tell_booked()`,
  `create or replace function tell_set_budget() returns trigger language plpgsql as $$
    begin
      perform tell_budget(new.workspace_id);
      return null;
    end $$`,
  `create or replace trigger tell_set_budget after insert or update of monthly_nanos, monthly_tokens
    on workspace_budgets for each row
    when (coalesce(new.monthly_nanos, new.monthly_tokens) is not null) execute function tell_set_budget()`,
  // As in migration 32, but that it tells of the limit of a month for which it refuses.
  `create or replace function reserve_budget(
    call_run text, call_epoch integer, call_worker text, given text, call_tokens bigint, call_nanos bigint,
    run_tokens bigint, run_nanos bigint, out outcome text, out reached text, out amount bigint
  ) language plpgsql as $$
    declare
      budget workspace_budgets;
      s record;
      broken record;
    begin
      select * into budget from workspace_budgets where workspace_id = given for no key update;
      if coalesce(budget.monthly_nanos, budget.monthly_tokens, budget.run_nanos, budget.run_tokens) is null then
        outcome := 'none'; return;
      end if;
      if not exists (
        select from runs where id = call_run and epoch = call_epoch and worker = call_worker and status = 'RUNNING'
      ) then
        outcome := 'lost'; return;
      end if;
      -- Nobody was told of it: the answer was lost.
      delete from budget_reservations where run_id = call_run and epoch = call_epoch;
      if call_nanos is null and coalesce(budget.monthly_nanos, budget.run_nanos) is not null then
        outcome := 'unpriced'; return;
      end if;
      select * into s from budget_standing(given);
      select * into broken from (
        select coalesce(sum(tokens), 0) as tokens, coalesce(sum(cost_nanos), 0) as nanos
        from budget_reservations where run_id = call_run) b;
      select l.name, l.value into reached, amount from (values
          (1, 'runUsd', budget.run_nanos, run_nanos + broken.nanos),
          (2, 'runTokens', budget.run_tokens, run_tokens + broken.tokens),
          (3, 'monthlyUsd', budget.monthly_nanos, s.used_nanos::numeric + s.lost_nanos),
          (4, 'monthlyTokens', budget.monthly_tokens, s.used_tokens::numeric + s.lost_tokens)
        ) l (place, name, value, spent) where l.spent >= l.value order by l.place limit 1;
      if reached is not null then
        if reached like 'monthly%' then perform tell_budget(given); end if;
        outcome := 'refused'; return;
      end if;
      if s.used_nanos::numeric + s.lost_nanos + s.reserved_nanos >= budget.monthly_nanos
        or s.used_tokens::numeric + s.lost_tokens + s.reserved_tokens >= budget.monthly_tokens then
        outcome := 'waits'; return;
      end if;
      insert into budget_reservations (run_id, epoch, workspace_id, tokens, cost_nanos)
        values (call_run, call_epoch, given, call_tokens, coalesce(call_nanos, 0));
      outcome := 'reserved';
    end $$`
]
