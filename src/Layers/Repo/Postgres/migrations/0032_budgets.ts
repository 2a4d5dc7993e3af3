/**
 * What workspaces may spend, and what calls of models hold of it while they are under way (docs/adr/0026-budgets.md).
 * Money is in billionths of a US dollar. What is booked are the sums of migration 31.
 *
 * Who asks for a call locks the row of the budget, and then reads the sums with a snapshot of its own: of a function that is
 * volatile each statement has one. In one statement it would be that from before the lock. All sums are read in one
 * snapshot: what is journaled meanwhile is under way or booked, and never neither.
 *
 * A reservation names its run without a foreign key: what a run that is deleted held is not forgotten.
 */

/** Sums stay numbers that a program holds exactly. */
const most = "9007199254740991"

const monthOf = (at: string) => `date_trunc('month', ${at} at time zone 'UTC')::date`

/** What is lost of a run that goes on is kept by itself, since it counts to the limits of the run. */
const goesOn = (r: string) =>
  `exists (select from runs where id = ${r}.run_id and status in ('PENDING', 'RUNNING', 'WAITING_APPROVAL'))`

/**
 * An execution that will journal what its call cost: where the database was away leases have ended for all, and are renewed within seconds.
 */
const isUnderWay = `exists (
  select from runs where id = r.run_id and epoch = r.epoch and status = 'RUNNING' and worker is not null
    and lease_until > clock_timestamp() - interval '5 seconds')`

export const statements = [
  `create table workspace_budgets (
    workspace_id text primary key references workspaces on delete cascade,
    monthly_nanos bigint,
    monthly_tokens bigint,
    run_nanos bigint,
    run_tokens bigint
  ) with (fillfactor = 60)`,
  `create table budget_reservations (
    run_id text not null,
    epoch integer not null,
    workspace_id text not null references workspaces on delete cascade,
    tokens bigint not null,
    cost_nanos bigint not null,
    made_at timestamptz not null default clock_timestamp(),
    primary key (run_id, epoch)
  ) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)`,
  `create index budget_reservations_of_workspace on budget_reservations (workspace_id)`,
  `create index budget_reservations_by_age on budget_reservations (made_at)`,
  `create table budget_losses (
    workspace_id text not null references workspaces on delete cascade,
    month date not null,
    tokens bigint not null,
    cost_nanos bigint not null,
    primary key (workspace_id, month)
  )`,
  `create function budget_standing(
    given text, out month date, out used_tokens bigint, out used_nanos bigint, out lost_tokens bigint,
    out lost_nanos bigint, out reserved_tokens bigint, out reserved_nanos bigint
  ) language plpgsql stable as $$
    declare
      this_month constant date := ${monthOf("clock_timestamp()")};
    begin
      month := this_month;
      with booked as (
        (select input_tokens::numeric + output_tokens as tokens, cost_nanos as nanos from usage_months u
          where u.workspace_id = given and u.month = this_month order by generation desc limit 1)
        union all
        select input_tokens::numeric + output_tokens, cost_nanos from usage_changes c
          where c.workspace_id = given and c.id > coalesce((select folded_to from usage_folds), 0)
            and ${monthOf("c.at")} = this_month
      ), held as materialized (
        select tokens, cost_nanos as nanos, ${isUnderWay} as is_under_way
        from budget_reservations r where r.workspace_id = given
      ), lost as (
        select l.tokens, l.cost_nanos as nanos from budget_losses l
          where l.workspace_id = given and l.month = this_month
        union all
        select tokens, nanos from held where not is_under_way
      )
      select least(b.tokens, ${most}), least(b.nanos, ${most}), least(l.tokens, ${most}), least(l.nanos, ${most}),
        least(h.tokens, ${most}), least(h.nanos, ${most})
      into used_tokens, used_nanos, lost_tokens, lost_nanos, reserved_tokens, reserved_nanos
      from (select coalesce(sum(tokens), 0) as tokens, coalesce(sum(nanos), 0) as nanos from booked) b,
        (select coalesce(sum(tokens), 0) as tokens, coalesce(sum(nanos), 0) as nanos from lost) l,
        (select coalesce(sum(tokens), 0) as tokens, coalesce(sum(nanos), 0) as nanos
          from held where is_under_way) h;
    end $$`,
  // Nothing of it is done where there is no budget.
  `create function budget_reached(given text) returns table (reached text, amount bigint) language plpgsql stable as $$
    declare
      budget workspace_budgets;
      s record;
    begin
      select * into budget from workspace_budgets where workspace_id = given;
      if coalesce(budget.monthly_nanos, budget.monthly_tokens) is null then return; end if;
      select * into s from budget_standing(given);
      return query select l.name, l.value from (values
          (1, 'monthlyUsd', budget.monthly_nanos, s.used_nanos::numeric + s.lost_nanos),
          (2, 'monthlyTokens', budget.monthly_tokens, s.used_tokens::numeric + s.lost_tokens)
        ) l (place, name, value, spent) where l.spent >= l.value order by l.place limit 1;
    end $$`,
  `create function reserve_budget(
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
        outcome := 'refused'; return;
      end if;
      if s.used_nanos::numeric + s.lost_nanos + s.reserved_nanos >= budget.monthly_nanos
        or s.used_tokens::numeric + s.lost_tokens + s.reserved_tokens >= budget.monthly_tokens then
        outcome := 'waits'; return;
      end if;
      insert into budget_reservations (run_id, epoch, workspace_id, tokens, cost_nanos)
        values (call_run, call_epoch, given, call_tokens, coalesce(call_nanos, 0));
      outcome := 'reserved';
    end $$`,
  `create function lose_budget(dead budget_reservations) returns void language sql as $$
    insert into budget_losses as l (workspace_id, month, tokens, cost_nanos)
      values (dead.workspace_id, ${monthOf("clock_timestamp()")}, dead.tokens, dead.cost_nanos)
      on conflict (workspace_id, month) do update
        set tokens = least(l.tokens + excluded.tokens, ${most}),
          cost_nanos = least(l.cost_nanos + excluded.cost_nanos, ${most})
  $$`,
  `create function bury_budgets(most integer) returns integer language plpgsql as $$
    declare
      dead budget_reservations;
      buried integer := 0;
      -- A value: the index serves no function that is volatile.
      until constant timestamptz := clock_timestamp() - interval '5 seconds';
    begin
      -- One at a time: two would wait for each other's losses.
      if not pg_try_advisory_xact_lock(hashtextextended('bury_budgets', 0)) then return 0; end if;
      for dead in
        select r.* from budget_reservations r
        where made_at < until and not ${goesOn("r")}
        order by made_at limit most for update skip locked
      loop
        delete from budget_reservations where run_id = dead.run_id and epoch = dead.epoch;
        perform lose_budget(dead);
        buried := buried + 1;
      end loop;
      return buried;
    end $$`,
  // A slot that fell to the budget; its outcome is `overlap` to nodes of the version before.
  `alter table cron_fires add column is_spent boolean not null default false`
]
