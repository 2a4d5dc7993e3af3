import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { otherKey, type UsageGroup } from "../../../Schemas/UsageReport.ts"
import { UsageRepo } from "../../../Services/UsageRepo.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import { againWithoutGone } from "./Faults.ts"
import { count, firstRow, rows } from "./Rows.ts"
import { bookedIn } from "./UsageMonths.ts"

const counts = {
  modelCalls: Schema.Finite,
  toolCalls: Schema.Finite,
  inputTokens: Schema.Finite,
  cachedInputTokens: Schema.Finite,
  outputTokens: Schema.Finite
}
const Sum = Schema.Struct({
  key: Schema.NullOr(Schema.String),
  runs: Schema.Finite,
  turns: Schema.Finite,
  ...counts,
  costNanos: Schema.Finite,
  unknownCalls: Schema.Finite
})
const sums = rows(Sum)
const number = (column: string) => ({ read: `${column}::float8` })
const Spent = Schema.Struct({ ...counts, costNanos: Schema.NullOr(Schema.Finite) })
const spent = firstRow(Spent)
const spentColumns = makeColumns(Spent, { costNanos: number("cost_nanos") }).read()
const Booked = Schema.Struct({
  tokens: Schema.Finite,
  costNanos: Schema.Finite,
  unknownCalls: Schema.Finite
})
const booked = firstRow(Booked)
const bookedColumns = makeColumns(Booked, {
  tokens: number("tokens"),
  costNanos: number("cost_nanos"),
  unknownCalls: number("unknown_calls")
}).read()

const summed = [
  ["runs", "runs"],
  ["turns", "turns"],
  ["model_calls", "modelCalls"],
  ["tool_calls", "toolCalls"],
  ["input_tokens", "inputTokens"],
  ["cached_input_tokens", "cachedInputTokens"],
  ["output_tokens", "outputTokens"],
  ["cost_nanos", "costNanos"],
  ["unknown_calls", "unknownCalls"]
] as const

const keys: Readonly<Record<UsageGroup, string>> = {
  day: "to_char(day, 'YYYY-MM-DD')",
  agent: "nullif(agent_id, '')",
  model: "nullif(provider || '/' || model, '/')",
  cronJob: "nullif(cron_job_id, '')",
  kind: "kind"
}
const tokens = "sum(input_tokens + output_tokens)"

const grouped = (
  sql: PgClient,
  { from, groupBy, most, to, workspaceId }: Parameters<UsageRepo["Service"]["sums"]>[0]
) => {
  const columns =
    "kind, agent_id, cron_job_id, provider, model, runs, turns, model_calls, tool_calls, input_tokens, cached_input_tokens, output_tokens"
  return sql`
    with each as (
      select day, ${sql.literal(columns)}, cost_nanos, unknown_calls from usage_days
      where workspace_id = ${workspaceId} and day >= ${from}::date and day < ${to}::date
      union all
      select (at at time zone 'UTC')::date, ${sql.literal(columns)}, coalesce(cost_nanos, 0),
        (cost_nanos is null)::int
      from usage_changes
      where workspace_id = ${workspaceId} and id > coalesce((select folded_to from usage_folds), 0)
        and at >= ${from}::timestamp at time zone 'UTC' and at < ${to}::timestamp at time zone 'UTC'
    ), grouped as (
      select ${sql.literal(keys[groupBy])} as key, ${sql.literal(summed.map(([column]) => `sum(${column}) as ${column}`).join(", "))},
        least(row_number() over (order by ${sql.literal(groupBy === "day" ? "" : `${tokens} desc, `)}
          ${sql.literal(keys[groupBy])} collate "C"), ${most}::int + 1) as place
      from each group by ${sql.literal(keys[groupBy])}
    )
    select case when place > ${most}::int then ${otherKey} else min(key) end as key,
      ${sql.literal(summed.map(([column, field]) => `sum(${column})::float8 as "${field}"`).join(", "))}
    from grouped group by place order by place`
}

export const layer = Layer.effect(
  UsageRepo,
  Effect.map(Database, ({ lookUp, query, read, sql }) =>
    UsageRepo.of({
      sums: (filter) => read(filter.workspaceId, sums(grouped(sql, filter))),
      booked: (workspaceId) =>
        query(
          Effect.map(
            booked(sql`
              select ${bookedColumns}
              from (${bookedIn(sql, sql`${workspaceId}`)}) booked`),
            Option.getOrElse(() => ({ tokens: 0, costNanos: 0, unknownCalls: 0 }))
          )
        ),
      ofRun: (id) =>
        lookUp(
          spent(sql`
            select ${spentColumns}
            from runs where id = ${id} and status in ('COMPLETED', 'FAILED') and model_calls is not null`)
        ),
      fold: query(Effect.retry(count(sql`select fold_usage()::int as count`), againWithoutGone))
    })
  )
)
