import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import type { Fragment } from "effect/sql/Statement"
import type { RunFilter, RunRepo } from "../../../../Services/RunRepo.ts"
import type { Database } from "../Database.ts"
import { againWithoutGone } from "../Faults.ts"
import { count } from "../Rows.ts"
import { isThere, narrowed, narrowingOf } from "./Narrowed.ts"

/**
 * How many tasks match, exactly, as one expression: from what triggers count (migration 24), folded and not yet folded.
 * Those that are RUNNING are few, and looked at; and what is nothing else is PENDING.
 */
export const totalOf = (sql: PgClient, filter: RunFilter): Fragment => {
  const { status, workspaceId } = filter
  const narrowing = narrowingOf(filter)
  const isOf = sql.and([
    sql`workspace_id = ${workspaceId}`,
    ...narrowing.flatMap(({ column, id }) => (id === undefined ? [] : [sql`${sql(column)} = ${id}`]))
  ])
  const isOnly = sql.and([
    isOf,
    ...narrowing.flatMap(({ column, id }) => (id === undefined ? [sql`${sql(column)} is null`] : []))
  ])
  const running = () => {
    const { parts, where } = narrowed(sql, { ...filter, status: "RUNNING" })
    return sql`(select count(*) from runs where ${sql.and([where, ...parts])})`
  }
  const counted = (columns: string) => {
    const kept = sql.literal(columns)
    return sql`
      coalesce((select ${kept} from run_counts where ${isOnly}), 0)
      + coalesce((select sum(${kept}) from run_count_changes
        where id > coalesce((select folded_to from run_count_folds), 0) and ${isOf}), 0)`
  }
  const all =
    status === undefined
      ? counted("total")
      : status === "RUNNING"
        ? running()
        : status === "PENDING"
          ? sql`${counted("total - waiting_approval - completed - failed - cancelled")} - ${running()}`
          : counted(status.toLowerCase())
  return sql`(case when ${isThere(sql, filter)} then ${all} else 0 end)::int`
}

export const make = ({ query, sql }: Database["Service"]): Pick<RunRepo["Service"], "foldTotals"> => ({
  foldTotals: query(Effect.retry(count(sql`select fold_run_counts()::int as count`), againWithoutGone))
})
