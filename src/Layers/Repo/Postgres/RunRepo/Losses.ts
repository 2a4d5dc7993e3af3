import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { RunId } from "../../../../Schemas/Ids.ts"
import { RunKind, StoredRun } from "../../../../Schemas/Run.ts"
import {
  aloneFrom,
  loseWorker,
  mayBegin,
  restMillis,
  settleLeases,
  suspectFrom,
  workerLost
} from "../../../../Schemas/RunLoss.ts"
import * as Metrics from "../../../../Services/Metrics.ts"
import type { Claimant, RunRepo } from "../../../../Services/RunRepo.ts"
import { makeColumns } from "../Columns.ts"
import type { Database } from "../Database.ts"
import { onlyRow, rows } from "../Rows.ts"
import { runColumns } from "../RunColumns.ts"
import { leaseEnd } from "./Lease.ts"

const hasStep = "exists (select from run_steps s where s.run_id = runs.id and s.epoch = runs.epoch)"
const millisOf = (interval: string) => `(extract(epoch from ${interval}) * 1000)::float8`

const Counted = Schema.Struct({ losses: Schema.Int, hasStep: Schema.Boolean })
const countedColumns = makeColumns(Counted, { losses: { read: "crashes" }, hasStep: { read: hasStep } })
const countedRows = rows(Counted)

const Held = Schema.Struct({
  id: RunId,
  ...Counted.fields,
  endsInMillis: Schema.Finite,
  begunMillisAgo: Schema.Finite
})
type Held = typeof Held.Type
const heldColumns = makeColumns(Held, {
  losses: { read: "crashes" },
  hasStep: { read: hasStep },
  endsInMillis: { read: millisOf("lease_until - at") },
  begunMillisAgo: { read: millisOf("at - greatest(started_at, updated_at)") }
})
const heldRows = rows(Held)

const ids = rows(Schema.Struct({ id: RunId }))
const judgeRow = onlyRow(Schema.Struct({ alone: Schema.Boolean }))
const Ended = Schema.Struct({ id: RunId, kind: RunKind })
type Ended = typeof Ended.Type
const letGo = rows(Schema.Struct({ ...Ended.fields, over: Schema.Boolean }))
const waitingRows = rows(Schema.Struct({ id: RunId, losses: Schema.Int }))
const workers = rows(Schema.Struct({ worker: Schema.NullOr(Schema.String) }))
const upMillis = onlyRow(Schema.Struct({ millis: Schema.Finite }))
const lowestLosses = onlyRow(Schema.Struct({ lowest: Schema.Int }))
const storedRuns = rows(StoredRun)

/** A run that nobody holds is RUNNING without a worker, and its lease has ended: its workspace keeps the place. */
const isNobodys = (sql: PgClient) => sql`status = 'RUNNING' and worker is null`

const heldBy = (sql: PgClient, worker: string) =>
  heldRows(sql`
    select ${heldColumns.read()} from runs, (select clock_timestamp() as at) now
    where worker = ${worker} and status = 'RUNNING' order by id`)

/**
 * Judges all that a worker holds, one judge at a time, and lets go what it says: it is nobody's then, or over. It waits
 * for no lock: a run that somebody just writes is judged with the others, and let go another time. Answers which
 * are over.
 */
const judge = Effect.fnUntraced(function* <E>(
  sql: PgClient,
  { maxCrashes, worker }: { readonly worker: string; readonly maxCrashes: number },
  verdict: (held: ReadonlyArray<Held>) => Effect.Effect<ReadonlyArray<Held>, E>
) {
  const { alone } = yield* judgeRow(
    sql`select pg_try_advisory_xact_lock(hashtextextended(${worker}, 1)) as alone`
  )
  if (!alone) return []
  const locked = yield* ids(sql`
    select id from runs where worker = ${worker} and status = 'RUNNING' order by id for no key update skip locked`)
  // After the locks: what was written before them is seen.
  const free = new Set(locked.map(({ id }) => id))
  const judged = (yield* verdict(yield* heldBy(sql, worker)))
    .filter(({ id }) => free.has(id))
    .map(({ id, losses }) => ({ id, losses, over: losses >= maxCrashes }))
  if (judged.length === 0) return []
  const released = yield* letGo(sql`
    update runs
    set worker = null, lease_until = least(lease_until, at), updated_at = at, crashes = judged.losses,
      status = case when judged.over then 'FAILED' else status end,
      error = case when judged.over then ${workerLost(maxCrashes)} end,
      error_code = case when judged.over then 'worker_lost' end,
      finished_at = case when judged.over then at end
    from jsonb_to_recordset(${sql.json(judged)}) as judged (id text, losses integer, over boolean),
      (select clock_timestamp() as at) now
    where runs.id = judged.id and worker = ${worker} and status = 'RUNNING'
    returning runs.id, runs.kind, judged.over`)
  return released.filter(({ over }) => over)
})

/** Told when it is stored. */
const countLost = (ended: ReadonlyArray<Ended>) =>
  Effect.forEach(ended, ({ kind }) => Metrics.countEnds(kind, "FAILED"), { discard: true })

/**
 * How long ago the server was away, as it knows itself: not while they were executed, if one of them began since then.
 */
const restartedMillisAgo = Effect.fnUntraced(function* (sql: PgClient, held: ReadonlyArray<Held>) {
  const up = yield* upMillis(
    sql`select ${sql.literal(millisOf("clock_timestamp() - pg_postmaster_start_time()"))} as millis`
  )
  return held.every(({ begunMillisAgo }) => begunMillisAgo > up.millis) ? up.millis : Number.POSITIVE_INFINITY
})

const settle = (
  sql: PgClient,
  { worker, ...how }: Parameters<typeof settleLeases>[1] & { readonly worker: string }
) =>
  judge(sql, { worker, maxCrashes: how.maxCrashes }, (held) =>
    Effect.map(restartedMillisAgo(sql, held), (millis) =>
      settleLeases(held, { ...how, awayMillis: Math.min(how.awayMillis, millis) })
    )
  )

/** Begins what is nobody's, as far as the worker may. */
const begin = Effect.fnUntraced(function* (
  sql: PgClient,
  { kind = "task", leaseMillis, limit, worker }: Claimant & { readonly limit: number }
) {
  // One at a time for each worker: both of its executors ask what it holds.
  yield* sql`select pg_advisory_xact_lock(hashtextextended(${worker}, 0))`
  const waiting = yield* waitingRows(sql`
    select id, crashes as losses from runs
    where ${isNobodys(sql)} and kind = ${kind} and (crashes < ${aloneFrom}::int
      or updated_at <= (select clock_timestamp()) - ${restMillis(leaseMillis)}::int * interval '1 millisecond')
    order by crashes, lease_until, created_at, id limit ${limit} for no key update skip locked`)
  if (waiting.length === 0) return []
  const held = yield* countedRows(sql`
    select ${countedColumns.read()} from runs where worker = ${worker} and status = 'RUNNING' and crashes > 0`)
  const { lowest } = yield* lowestLosses(
    sql`select min(crashes)::int as lowest from runs where ${isNobodys(sql)}`
  )
  const begun = mayBegin({ held, waiting, lowest }).map(({ id }) => id)
  if (begun.length === 0) return []
  return yield* storedRuns(sql`
    with begun as (
      update runs
      set worker = ${worker}, epoch = epoch + 1, attempts = attempts + 1, updated_at = clock_timestamp(),
        lease_until = ${leaseEnd(sql, leaseMillis)}
      where ${sql.in("id", begun)}
      returning *)
    select ${runColumns} from begun order by created_at, id`)
})

/** PENDING again, but for those that are suspect: they are nobody's (`isSuspect`, `keepLosses`). */
const handBack = (
  sql: PgClient,
  worker: string,
  { executions, kind = "task" }: Parameters<RunRepo["Service"]["release"]>[1]
) => {
  const chosen = sql`where worker = ${worker} and kind = ${kind} and status = 'RUNNING'`
  const among =
    executions === undefined
      ? chosen
      : sql`
        join jsonb_to_recordset(${sql.json(executions.map(({ epoch, id }) => ({ epoch, id })))})
          as own (id text, epoch integer) using (id, epoch) ${chosen}`
  return sql`
    with held as (
      select runs.id as held_id, ${sql.literal(hasStep)} as has_step from runs ${among} order by runs.id for no key update of runs
    ), judged as (
      select held_id, has_step, not has_step and crashes >= ${suspectFrom}::int as is_suspect
      from held join runs on runs.id = held_id)
    update runs
    set crashes = case when has_step then 0 else crashes end,
      status = case when is_suspect then status else 'PENDING' end,
      worker = case when is_suspect then null else worker end,
      lease_until = case when is_suspect then least(lease_until, clock_timestamp()) end
    from judged where id = held_id`
}

/** What becomes of runs that lose their worker: another takes them over, or they are handed back. */
export const make = ({
  query,
  sql
}: Database["Service"]): Pick<RunRepo["Service"], "takeOver" | "release"> => ({
  takeOver: Effect.fnUntraced(function* ({
    awayMillis = Number.POSITIVE_INFINITY,
    ended = () => Effect.void,
    maxCrashes,
    ...given
  }) {
    const found = yield* query(
      workers(sql`
        with ended as materialized (
          select worker from runs
          where status = 'RUNNING' and lease_until <= (select clock_timestamp()) order by lease_until)
        select distinct worker from ended`)
    )
    for (const { worker } of found) {
      if (worker === null) continue
      const how = { isOwn: worker === given.worker, leaseMillis: given.leaseMillis, maxCrashes, awayMillis }
      const over = yield* query(sql.withTransaction(settle(sql, { ...how, worker })))
      yield* countLost(over)
      if (over.length > 0) yield* ended(over.map(({ id }) => id))
    }
    return found.length === 0 ? [] : yield* query(sql.withTransaction(begin(sql, given)))
  }),
  release: (worker, options) => {
    const { maxCrashes } = options
    const bury = judge(sql, { worker, maxCrashes }, (held) => Effect.succeed(loseWorker(held, maxCrashes)))
    return options.crashed
      ? Effect.flatMap(query(sql.withTransaction(bury)), countLost)
      : query(Effect.asVoid(handBack(sql, worker, options)))
  }
})
