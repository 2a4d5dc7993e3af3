import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { RunId } from "../../../../Schemas/Ids.ts"
import { type RunKind, StoredRun } from "../../../../Schemas/Run.ts"
import type { Execution, Renewal, RunRepo, Shares } from "../../../../Services/RunRepo.ts"
import type { Database } from "../Database.ts"
import { rows } from "../Rows.ts"
import { runColumns } from "../RunColumns.ts"
import { leaseEnd } from "./Lease.ts"
import { noLimit, runningIn, runningOf } from "./Owners.ts"

const storedRuns = rows(StoredRun)
const Renewed = Schema.Struct({ id: RunId, kept: Schema.Boolean })
const renewals = rows(Renewed)

/** By the index of those in which some wait. */
const waits = (sql: PgClient, kind: RunKind) => sql`kind = ${kind} and is_waiting and queued > 0`

/**
 * As `picked`: within a workspace in order, workspaces in turns, and of somebody's workspaces as many as there is room
 * for in all of them together. Owners that are full take no place in `open` from others.
 */
const fairly = (
  sql: PgClient,
  kind: RunKind,
  { limit, perOwner = noLimit, perWorkspace }: Shares & { readonly limit: number }
) => sql`
  full_owners as materialized (
    select owner_id from (
      select distinct owner_id from run_slots where ${waits(sql, kind)} and owner_id is not null
    ) waiting where ${runningIn(sql, kind, sql.literal("owner_id"))} >= ${perOwner}::int
  ), open as materialized (
    select workspace_id, owner_id, running, served_at from run_slots
    where ${waits(sql, kind)} and running < ${perWorkspace}::int
      and (owner_id is null or owner_id not in (select owner_id from full_owners))
    order by running, served_at limit ${limit} for update skip locked
  ), ${runningOf(sql, kind, sql.literal("select owner_id from open"), { waits: false })}, ready as materialized (
    select o.workspace_id, o.owner_id, o.running, o.served_at, ${perOwner}::int - n.running as room
    from open o left join running_of n on n.owner_id = o.owner_id
    where o.owner_id is null or n.running < ${perOwner}::int
  ), picked as (
    select id from (
      select q.id, q.created_at, o.owner_id, o.served_at, o.room, o.running + q.place as turn,
        row_number() over (
          partition by o.owner_id order by o.running + q.place, o.served_at, q.created_at, q.id) as share
      from ready o cross join lateral (
        select id, created_at, row_number() over (order by created_at, id) as place from (
          select id, created_at from runs
          where workspace_id = o.workspace_id and status = 'PENDING' and not_before is null and kind = ${kind}
          order by created_at, id limit greatest(${perWorkspace}::int - o.running, 0)
          for update skip locked
        ) oldest
      ) q
    ) ranked
    where owner_id is null or share <= room
    order by turn, served_at, created_at, id limit ${limit})`

export const make = ({ query, sql }: Database["Service"]): Pick<RunRepo["Service"], "claim" | "renew"> => ({
  claim: ({ kind = "task", leaseMillis, worker, ...shares }) =>
    query(
      storedRuns(sql`
        with ${fairly(sql, kind, shares)}, claimed as (
          update runs
          set status = 'RUNNING', worker = ${worker}, attempts = attempts + 1, epoch = epoch + 1,
            lease_until = ${leaseEnd(sql, leaseMillis)}, started_at = coalesce(started_at, clock_timestamp()),
            updated_at = clock_timestamp()
          where id in (select id from picked)
          returning *)
        select ${runColumns} from claimed order by created_at, id`)
    ),
  renew: (worker, executions, leaseMillis) =>
    executions.length === 0
      ? Effect.succeed({ renewed: new Set(), lost: new Set() })
      : query(Effect.map(renewals(renewing(sql, worker, executions, leaseMillis)), toRenewal))
})

/**
 * What is locked is passed by, and not lost: whoever has locked it may change nothing that matters here. A step of it
 * that is just written is enough for that; it is asked for again soon.
 */
const renewing = (
  sql: PgClient,
  worker: string,
  executions: ReadonlyArray<Pick<Execution, "id" | "epoch">>,
  leaseMillis: number
) => {
  const isOurs = sql`runs.epoch = own.epoch and runs.worker = ${worker} and runs.status = 'RUNNING'`
  return sql`
    with own as materialized (
      select * from jsonb_to_recordset(${sql.json(executions.map(({ epoch, id }) => ({ epoch, id })))})
        as given (id text, epoch integer)
    ), free as materialized (
      select runs.id from own join runs on runs.id = own.id where ${isOurs}
      order by runs.id for no key update of runs skip locked
    ), renewed as (
      update runs set lease_until = ${leaseEnd(sql, leaseMillis)} where id in (select id from free)
      returning id
    )
    select own.id, renewed.id is not null as kept
    from own left join renewed on renewed.id = own.id
    where renewed.id is not null or not exists (select from runs where runs.id = own.id and ${isOurs})`
}

const toRenewal = (rows: ReadonlyArray<typeof Renewed.Type>): Renewal => ({
  renewed: new Set(rows.flatMap(({ id, kept }) => (kept ? [id] : []))),
  lost: new Set(rows.flatMap(({ id, kept }) => (kept ? [] : [id])))
})
