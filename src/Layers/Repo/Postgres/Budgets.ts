import type { PgClient } from "@effect/sql-pg/PgClient"
import type { Fragment } from "effect/sql/Statement"
import { type LimitName, type Reached, usdOf } from "../../../Schemas/Budget.ts"

/** A limit as the functions of migration 32 tell it: in billionths of a dollar, or tokens. */
export interface Limit {
  readonly reached: string
  readonly amount: number
}

export const reachedOf = ({ amount, reached }: Limit): Reached => {
  const limit = reached as LimitName
  return { limit, value: limit.endsWith("Usd") ? usdOf(amount) : amount }
}

/** Whether a row of `workspace_budgets`, which may not be there, has a limit. */
export const isLimited = (table: string): string =>
  `coalesce(${table}.monthly_nanos, ${table}.monthly_tokens, ${table}.run_nanos, ${table}.run_tokens) is not null`

/** `, settled as (…)`: what the executions of `from`, with `id` and `epoch`, hold is taken away: it is booked. */
export const settling = (sql: PgClient, from: string): Fragment => sql`, settled as (
    delete from budget_reservations b using ${sql.literal(from)} s where b.run_id = s.id and b.epoch = s.epoch
  )`
