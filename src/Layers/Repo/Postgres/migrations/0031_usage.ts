/**
 * What was used, by day and by month (docs/adr/0025-usage.md). The statement that journals a step adds a row to
 * `usage_changes`, which nobody else waits for; `fold_usage` adds them to `usage_days` and `usage_months`, up to
 * `folded_to`, as migration 24 does with the counts of runs. Whoever reads takes the sums and the rows behind `folded_to`
 * in one snapshot. Rows of sums have generations (migration 25), so that a snapshot that is held for long costs nobody.
 *
 * Nothing here names what may be gone by now: usage outlives agents, jobs, keys and runs. What there is none of is ''.
 */
const dimensions = ["kind", "agent_id", "cron_job_id", "provider", "model", "provider_key_id"]
const ofDays = ["runs", "turns", "model_calls", "tool_calls"]
const ofMonths = ["input_tokens", "cached_input_tokens", "output_tokens", "cost_nanos", "unknown_calls"]

const changesOfGeneration = 64
/** Sums stay below what a column holds, whatever providers say that they have read and written. */
const most = "9000000000000000000"

interface Sums {
  readonly table: string
  readonly key: ReadonlyArray<string>
  readonly sums: ReadonlyArray<string>
}
const days: Sums = {
  table: "usage_days",
  key: ["workspace_id", "day", ...dimensions],
  sums: [...ofDays, ...ofMonths]
}
const months: Sums = { table: "usage_months", key: ["workspace_id", "month"], sums: ofMonths }

const typeOf = (column: string) => (column === "day" || column === "month" ? "date" : "text")

const create = ({ key, sums, table }: Sums) => `create table ${table} (
    ${key.map((column) => `${column} ${typeOf(column)} not null`).join(", ")},
    ${sums.map((column) => `${column} bigint not null`).join(", ")},
    changes bigint not null default 0,
    generation bigint not null default 0,
    primary key (${key.join(", ")}, generation),
    foreign key (workspace_id) references workspaces on delete cascade
  ) with (fillfactor = 60)`

/** CTEs that add what `from` has to the rows that there are, and make the others. Only one does so at a time. */
const add = ({ key, sums, table }: Sums, from: string) => {
  const isSame = key.map((column) => `t.${column} = s.${column}`).join(" and ")
  return `
        of_${table} as materialized (
          select s.*, (select t.ctid from ${table} t where ${isSame} order by t.generation desc limit 1) as place
          from (
            select ${key.join(", ")}, ${sums.map((column) => `coalesce(sum(${column}), 0) as ${column}`).join(", ")}
            from ${from} group by ${key.join(", ")}
          ) s
        ), changed_${table} as (
          update ${table} t set
            ${sums.map((column) => `${column} = least(t.${column} + s.${column}, ${most})`).join(", ")},
            changes = t.changes + 1,
            generation = t.generation + (t.changes % ${changesOfGeneration} = ${changesOfGeneration - 1})::int
          from of_${table} s where t.ctid = s.place
        ), made_${table} as (
          insert into ${table} (${[...key, ...sums].join(", ")})
          select ${key.join(", ")}, ${sums.map((column) => `least(${column}, ${most})`).join(", ")}
          from of_${table} where place is null
        )`
}

/** In UTC, whatever the session has. */
const dayOf = (at: string) => `(${at} at time zone 'UTC')::date`

/** Tokens of runs of this month before there was this: of what is over by its row, else by its steps. */
const before = `
  select r.workspace_id, ${dayOf("coalesce(r.finished_at, r.updated_at)")} as day, r.kind,
    coalesce(r.agent_id, '') as agent_id, coalesce(r.cron_job_id, '') as cron_job_id,
    left(coalesce(r.answered_by ->> 'provider', ''), 100) as provider,
    left(coalesce(r.answered_by ->> 'model', ''), 200) as model,
    left(coalesce(r.answered_by ->> 'providerKeyId', ''), 100) as provider_key_id,
    (r.kind = 'task')::int as runs, (r.kind = 'turn')::int as turns, 0 as model_calls, 0 as tool_calls,
    coalesce(s.input_tokens, r.input_tokens) as input_tokens, 0 as cached_input_tokens,
    coalesce(s.output_tokens, r.output_tokens) as output_tokens, 0 as cost_nanos,
    (coalesce(r.answered_by ->> 'provider', '') not in ('offline', 'openai-compatible'))::int as unknown_calls
  from runs r left join lateral (
    select sum((step #>> '{usage,inputTokens}')::bigint) as input_tokens,
      sum((step #>> '{usage,outputTokens}')::bigint) as output_tokens
    from run_steps
    where r.input_tokens = 0 and r.output_tokens = 0 and r.status <> 'COMPLETED'
      and run_id = r.id and step ->> 'type' = 'model'
  ) s on true
  where r.answered_by is not null and (r.finished_at is null
    or r.finished_at >= date_trunc('month', now() at time zone 'UTC') at time zone 'UTC')`

export const statements = [
  `alter table provider_keys add column pricing jsonb`,
  // What a run that is over has used, also when its journal is forgotten; NULL where that was not counted.
  `alter table runs add column cached_input_tokens integer, add column model_calls integer,
    add column tool_calls integer, add column cost_nanos bigint`,
  create(days),
  create(months),
  `create table usage_changes (
    id bigint generated always as identity primary key,
    workspace_id text not null,
    at timestamptz not null default now(),
    ${dimensions.map((column) => `${column} text not null`).join(", ")},
    ${ofDays.map((column) => `${column} integer not null`).join(", ")},
    input_tokens bigint not null,
    cached_input_tokens bigint not null,
    output_tokens bigint not null,
    cost_nanos bigint
  ) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000)`,
  `create index usage_changes_of_workspace on usage_changes (workspace_id, id)`,
  `create table usage_folds (
    is_only boolean primary key default true check (is_only),
    folded_to bigint not null,
    next_to bigint not null,
    next_before xid8 not null
  )`,
  `create function fold_usage() returns bigint language plpgsql as $$
    declare
      newest bigint;
      state usage_folds;
      folded bigint := 0;
    begin
      select last_value into newest from usage_changes_id_seq where is_called;
      if newest is null then return 0; end if;
      -- From here on this has a number of its own: whoever was given one of these ids has a lower one.
      select * into state from usage_folds for update skip locked;
      if not found then
        insert into usage_folds (folded_to, next_to, next_before) values (0, newest, pg_current_xact_id())
          on conflict do nothing;
        return 0;
      end if;
      if state.folded_to >= newest then return 0; end if;
      if state.next_to > state.folded_to then
        -- One that is still to come is that of another server, from which all of this was restored.
        if state.next_before > pg_snapshot_xmin(pg_current_snapshot())
          and state.next_before <= pg_snapshot_xmax(pg_current_snapshot()) then return 0; end if;
        with taken as (
          delete from usage_changes where id > state.folded_to and id <= state.next_to returning *
        ), named as materialized (
          select t.*, ${dayOf("t.at")} as day, date_trunc('month', t.at at time zone 'UTC')::date as month,
            (t.cost_nanos is null)::int as unknown_calls
          from taken t join workspaces w on w.id = t.workspace_id
        ), ${add(days, "(select * from named) each")}, ${add(months, "(select * from named) each")}
        select count(*) into folded from taken;
      end if;
      update usage_folds set folded_to = greatest(folded_to, next_to), next_to = newest,
        next_before = pg_current_xact_id();
      return folded;
    end $$`,
  `insert into usage_days (${[...days.key, ...days.sums].join(", ")})
    select ${days.key.join(", ")}, ${days.sums.map((column) => `least(sum(${column}), ${most})`).join(", ")}
    from (${before}) each where day >= date_trunc('month', now() at time zone 'UTC')::date
    group by ${days.key.join(", ")}`,
  `insert into usage_months (${[...months.key, ...months.sums].join(", ")})
    select workspace_id, date_trunc('month', day)::date, ${months.sums.map((column) => `least(sum(${column}), ${most})`).join(", ")}
    from usage_days group by 1, 2`
]
