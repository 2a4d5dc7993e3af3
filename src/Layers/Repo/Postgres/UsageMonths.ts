import type { PgClient } from "@effect/sql-pg/PgClient"
import type { Fragment } from "effect/sql/Statement"
import { newest } from "./RunRepo/Owners.ts"

/** The first day of this month in UTC, by the clock of the database. */
export const thisMonth = "date_trunc('month', now() at time zone 'UTC')::date"

/**
 * A query of one row: what a workspace has used in the UTC month of a date, which begins it, as `tokens` (read and written), `cost_nanos` (of
 * calls whose cost is known) and `unknown_calls` (of those whose is not), all bigint. It is exact in the snapshot that
 * the statement has, also while it is folded, and reads one row and what is not folded yet of the workspace.
 */
export const bookedIn = (
  sql: PgClient,
  workspaceId: Fragment,
  month: Fragment = sql.literal(thisMonth)
): Fragment => sql`
  select least(sum(tokens), 9000000000000000000)::bigint as tokens,
    least(sum(cost_nanos), 9000000000000000000)::bigint as cost_nanos, sum(unknown_calls)::bigint as unknown_calls
  from (
    select 0::bigint as tokens, 0::bigint as cost_nanos, 0::bigint as unknown_calls
    union all
    (select input_tokens + output_tokens, cost_nanos, unknown_calls from usage_months
      where workspace_id = ${workspaceId} and month = ${month} ${sql.literal(newest)})
    union all
    select input_tokens + output_tokens, coalesce(cost_nanos, 0), (cost_nanos is null)::int from usage_changes
    where workspace_id = ${workspaceId} and id > coalesce((select folded_to from usage_folds), 0)
      and at >= ${month}::timestamp at time zone 'UTC'
      and at < (${month} + interval '1 month') at time zone 'UTC'
  ) each`
