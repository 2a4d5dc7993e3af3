import type { PgClient } from "@effect/sql-pg/PgClient"
import type { Fragment } from "effect/sql/Statement"
import type { RunKind } from "../../../../Schemas/Run.ts"

/** More than can run: for callers that say no limit. */
export const noLimit = 2_147_483_647

/** The row of its newest generation (migration 25). */
export const newest = "order by generation desc limit 1"

/** How many runs of a kind this statement sees to run in all workspaces that somebody made. */
export const runningIn = (sql: PgClient, kind: RunKind, owner: Fragment): Fragment => sql`(
  select coalesce(sum(s.running), 0) from workspaces w cross join lateral (
    select running from run_slots where workspace_id = w.id and kind = ${kind} ${sql.literal(newest)}
  ) s where w.created_by = ${owner})`

/**
 * `… running_of as (owner_id, running)`: how many runs of a kind are RUNNING at most in all workspaces that somebody
 * made, who can start no other until the transaction ends. It is what this statement sees to run, and what has been
 * started since: whoever starts one counts it in `owner_slots`, of which both the row that the statement sees and, by
 * the lock, the latest one are read. What has ended since counts as running.
 */
export const runningOf = (
  sql: PgClient,
  kind: RunKind,
  owners: Fragment,
  { waits }: { readonly waits: boolean }
): Fragment => sql`
  owners as materialized (
    select distinct owner_id from (${owners}) each where owner_id is not null
  ), seen_owners as materialized (
    select o.owner_id, s.started, ${runningIn(sql, kind, sql.literal("o.owner_id"))} as running
    from owners o cross join lateral (
      select started from owner_slots where owner_id = o.owner_id and kind = ${kind} ${sql.literal(newest)}) s
  ), locked_owners as materialized (
    select o.owner_id, s.started from (select owner_id from owners order by owner_id) o cross join lateral (
      select started from owner_slots where owner_id = o.owner_id and kind = ${kind} ${sql.literal(newest)}
      for update ${sql.literal(waits ? "" : "skip locked")}) s
  ), running_of as materialized (
    select owner_id, seen_owners.running + locked_owners.started - seen_owners.started as running
    from locked_owners join seen_owners using (owner_id))`
