import type { PgClient } from "@effect/sql-pg/PgClient"
import type { Fragment } from "effect/sql/Statement"
import type { RunKind } from "../../../../Schemas/Run.ts"

/** More than can run: for callers that say no limit. */
export const noLimit = 2_147_483_647

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
  seen_owners as materialized (
    select o.owner_id, o.started, (
      select coalesce(sum(s.running), 0) from run_slots s
      where s.kind = ${kind} and s.owner_id = o.owner_id and s.running > 0) as running
    from owner_slots o where o.kind = ${kind} and o.owner_id in (${owners})
  ), locked_owners as materialized (
    select owner_id, started from owner_slots where kind = ${kind} and owner_id in (${owners})
    order by owner_id for update ${sql.literal(waits ? "" : "skip locked")}
  ), running_of as materialized (
    select owner_id, seen_owners.running + locked_owners.started - seen_owners.started as running
    from locked_owners join seen_owners using (owner_id))`
