import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import { StoredRun, workerLost } from "../../../../Schemas/Run.ts"
import type { RunRepo } from "../../../../Services/RunRepo.ts"
import type { Database } from "../Database.ts"
import { rows } from "../Rows.ts"
import { runColumns } from "../RunColumns.ts"
import { leaseEnd } from "./Lease.ts"

const storedRuns = rows(StoredRun)

/**
 * How often each of these runs has lost its worker without a step in between, this time included. A worker
 * that takes its own run over was away, but did not die.
 */
const losses = (sql: PgClient, taker: string | null) => sql`
  case
    when worker = ${taker} then crashes
    when exists (select from run_steps s where s.run_id = runs.id and s.epoch = runs.epoch) then 1
    else crashes + 1
  end as losses`

/** A run that loses its worker once too often is over. */
const lost = (sql: PgClient, maxCrashes: number, otherwise: string) => sql`
  crashes = losses,
  status = case when losses >= ${maxCrashes}::int then 'FAILED' else ${otherwise} end,
  error = case when losses >= ${maxCrashes}::int then ${workerLost(maxCrashes)} end,
  error_code = case when losses >= ${maxCrashes}::int then 'worker_lost' end,
  finished_at = case when losses >= ${maxCrashes}::int then clock_timestamp() end,
  updated_at = clock_timestamp()`

/** What becomes of runs that lose their worker: another takes them over, or they are handed back. */
export const make = ({
  query,
  sql
}: Database["Service"]): Pick<RunRepo["Service"], "takeOver" | "release"> => ({
  takeOver: ({ kind = "task", leaseMillis, limit, maxCrashes, worker }) =>
    query(
      storedRuns(sql`
        with lost as (
          select id as lost_id, ${losses(sql, worker)} from runs
          where kind = ${kind} and status = 'RUNNING' and lease_until <= clock_timestamp()
          order by lease_until limit ${limit} for update skip locked
        ), taken as (
          update runs
          set ${lost(sql, maxCrashes, "RUNNING")}, worker = ${worker}, epoch = epoch + 1,
            attempts = attempts + (losses < ${maxCrashes}::int)::int,
            lease_until = ${leaseEnd(sql, leaseMillis)}
          from lost where id = lost_id
          returning runs.*)
        select ${runColumns} from taken where status = 'RUNNING' order by created_at, id`)
    ),
  release: (worker, { crashed, kind = "task", maxCrashes }) =>
    query(
      Effect.asVoid(
        crashed
          ? sql`
            with lost as (
              select id as lost_id, ${losses(sql, null)} from runs
              where worker = ${worker} and kind = ${kind} and status = 'RUNNING'
              order by id for no key update
            )
            update runs set ${lost(sql, maxCrashes, "PENDING")}, lease_until = null
            from lost where id = lost_id`
          : sql`
            with held as (
              select id as held_id from runs
              where worker = ${worker} and kind = ${kind} and status = 'RUNNING'
              order by id for no key update
            )
            update runs set status = 'PENDING', lease_until = null from held where id = held_id`
      )
    )
})
