import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { RunStatus, type StoredRun } from "../../../../Schemas/Run.ts"
import type { Claimant, RunRepo } from "../../../../Services/RunRepo.ts"
import type { Database } from "../Database.ts"
import { keeping } from "../EventBatches.ts"
import { goneOf, orOnlyGone } from "../Named.ts"
import { firstRow } from "../Rows.ts"
import { insertRun } from "../RunColumns.ts"
import { leaseEnd } from "./Lease.ts"

const inserted = firstRow(Schema.Struct({ status: RunStatus }))

/** `workspace as (…), room as (…)`: a row of `room` if the workspace has a place that no run waits for. */
const roomFor = (sql: PgClient, given: StoredRun, perWorkspace: number) => sql`
  workspace as materialized (
    select id from workspaces
    where id = ${given.workspaceId} and ${perWorkspace}::int > 0
    for key share
  ), room as (
    select 1 from run_slots
    where workspace_id = (select id from workspace) and queued = 0 and not exists (select from gone)
      and running < ${perWorkspace}::int
    for update
  )`

/** The run out of `free`, which says whether it starts at once. */
const insertStarted = (sql: PgClient, given: StoredRun, start: Claimant | undefined) =>
  insertRun(
    given,
    {
      status: sql`case when free then 'RUNNING' else ${given.status} end`,
      attempts: sql`${given.attempts}::int + free::int`,
      epoch: sql`${given.epoch}::int + free::int`,
      worker: sql`case when free then ${start?.worker ?? null} end`,
      lease_until: sql`case when free then ${leaseEnd(sql, start?.leaseMillis ?? 0)} end`,
      started_at: sql`case when free then clock_timestamp() else ${given.startedAt}::timestamptz end`
    },
    sql.literal("free where not exists (select from gone)")
  )

export const make = ({ query, sql }: Database["Service"]): Pick<RunRepo["Service"], "insert"> => ({
  insert: (given, start, events) => {
    const isTurn = given.turn !== null
    const perWorkspace = isTurn ? 0 : (start?.perWorkspace ?? 0)
    return query(
      // What it names is locked before the counts of the workspace, for which others may wait with a run that the last
      // step of a removal waits for.
      inserted(sql`
        with ${goneOf(sql, given)}, ${roomFor(sql, given, perWorkspace)}, free as (
          select ${isTurn && start !== undefined}::boolean or exists (select from room) as free
        ), made as (
          ${insertStarted(sql, given, start)}
          returning id, status)${keeping(sql, "made", events)}
        select status from made`).pipe(
        orOnlyGone(sql, given),
        Effect.map(({ status }) => start !== undefined && status === "RUNNING")
      )
    )
  }
})
