import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { RunId } from "../../../../Schemas/Ids.ts"
import { StoredRun } from "../../../../Schemas/Run.ts"
import type { Execution, Renewal, RunRepo } from "../../../../Services/RunRepo.ts"
import type { Database } from "../Database.ts"
import { rows } from "../Rows.ts"
import { runColumns } from "../RunColumns.ts"
import { leaseEnd } from "./Lease.ts"

const storedRuns = rows(StoredRun)
const Renewed = Schema.Struct({ id: RunId, kept: Schema.Boolean })
const renewals = rows(Renewed)

/** As `picked`: within a workspace in order, workspaces in turns. */
const fairTasks = (sql: PgClient, limit: number, perWorkspace: number) => sql`
  open as materialized (
    select workspace_id, running, served_at from run_slots
    where queued > 0 and running < ${perWorkspace}::int
    order by running, served_at limit ${limit} for update skip locked
  ), picked as (
    select q.id from open o cross join lateral (
      select id, created_at, row_number() over (order by created_at, id) as place from (
        select id, created_at from runs
        where workspace_id = o.workspace_id and status = 'PENDING' and kind = 'task'
        order by created_at, id limit greatest(${perWorkspace}::int - o.running, 0)
        for update skip locked
      ) oldest
    ) q
    order by o.running + q.place, o.served_at, q.created_at, q.id limit ${limit})`

const oldestTurns = (sql: PgClient, limit: number) => sql`
  picked as (
    select id from runs where status = 'PENDING' and kind = 'turn'
    order by created_at, id limit ${limit} for update skip locked)`

export const make = ({ query, sql }: Database["Service"]): Pick<RunRepo["Service"], "claim" | "renew"> => ({
  claim: ({ kind, leaseMillis, limit, perWorkspace, worker }) =>
    query(
      storedRuns(sql`
        with ${kind === "turn" ? oldestTurns(sql, limit) : fairTasks(sql, limit, perWorkspace)}, claimed as (
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
