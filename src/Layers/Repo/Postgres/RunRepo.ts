import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { RunId } from "../../../Schemas/Ids.ts"
import { RunStatus, StoredRun, workerLost } from "../../../Schemas/Run.ts"
import { RunRepo } from "../../../Services/RunRepo.ts"
import { Database } from "./Database.ts"
import { keeping } from "./EventBatches.ts"
import { count, firstRow, onlyRow, returnedRow, rows } from "./Rows.ts"
import { insertRun, runColumns } from "./RunColumns.ts"

const storedRun = firstRow(StoredRun)
const storedRuns = rows(StoredRun)
const inserted = onlyRow(Schema.Struct({ status: RunStatus }))
const ids = rows(Schema.Struct({ id: RunId }))

export const layer = Layer.effect(
  RunRepo,
  Effect.gen(function* () {
    const { query, sql } = yield* Database

    const lease = (millis: number) => sql`clock_timestamp() + ${millis}::int * interval '1 millisecond'`

    /**
     * How often each of these runs has lost its worker without a step in between, this time included. A worker
     * that takes its own run over was away, but did not die.
     */
    const losses = (taker: string | null) => sql`
      case
        when worker = ${taker} then crashes
        when exists (select from run_steps s where s.run_id = runs.id and s.epoch = runs.epoch) then 1
        else crashes + 1
      end as losses`

    /** A run that loses its worker once too often is over. */
    const lost = (maxCrashes: number, otherwise: string) => sql`
      crashes = losses,
      status = case when losses >= ${maxCrashes}::int then 'FAILED' else ${otherwise} end,
      error = case when losses >= ${maxCrashes}::int then ${workerLost(maxCrashes)} end,
      error_code = case when losses >= ${maxCrashes}::int then 'worker_lost' end,
      finished_at = case when losses >= ${maxCrashes}::int then clock_timestamp() end,
      updated_at = clock_timestamp()`

    /** As `picked`: within a workspace in order, workspaces in turns. */
    const fairTasks = (limit: number, perWorkspace: number) => sql`
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

    const oldestTurns = (limit: number) => sql`
        picked as (
          select id from runs where status = 'PENDING' and kind = 'turn'
          order by created_at, id limit ${limit} for update skip locked)`

    return RunRepo.of({
      insert: (given, start, events) => {
        const isTurn = given.turn !== null
        const perWorkspace = isTurn ? 0 : (start?.perWorkspace ?? 0)
        // Before the counts of the workspace, for which others may wait with a run that a removal of these waits for.
        const referred = (name: string, table: string, id: string | null) => sql`
          ${sql.literal(name)} as materialized (
            select id from ${sql.literal(table)}
            where id = ${id} and ${perWorkspace}::int > 0
            for key share
          )`
        return query(
          Effect.map(
            inserted(sql`
              with workspace as materialized (
                select id from workspaces
                where id = ${given.workspaceId} and ${perWorkspace}::int > 0
                for key share
              ), ${referred("agent", "agents", given.agentId)},
              ${referred("job", "cron_jobs", given.cronJobId)},
              ${referred("key", "provider_keys", given.providerKeyId)},
              room as (
                select 1 from run_slots
                where workspace_id = (select id from workspace) and queued = 0
                  and (select count(*) from agent) + (select count(*) from job) + (select count(*) from key) >= 0
                  and running < ${perWorkspace}::int
                for update
              ), free as (
                select ${isTurn && start !== undefined}::boolean or exists (select from room) as free
              ), made as (
                ${insertRun(
                  given,
                  {
                    status: sql`case when free then 'RUNNING' else ${given.status} end`,
                    attempts: sql`${given.attempts}::int + free::int`,
                    epoch: sql`${given.epoch}::int + free::int`,
                    worker: sql`case when free then ${start?.worker ?? null} end`,
                    lease_until: sql`case when free then ${lease(start?.leaseMillis ?? 0)} end`,
                    started_at: sql`case when free then clock_timestamp() else ${given.startedAt}::timestamptz end`
                  },
                  sql.literal("free")
                )}
                returning id, status)${keeping(sql, "made", events)}
              select status from made`),
            ({ status }) => start !== undefined && status === "RUNNING"
          )
        )
      },
      find: (id) => query(storedRun(sql`select ${runColumns} from runs where id = ${id}`)),
      list: ({ agentId, cronJobId, limit, offset, projectId, status, workspaceId }) => {
        const matching = sql.and([
          sql`kind = 'task' and workspace_id = ${workspaceId}`,
          ...(projectId === undefined ? [] : [sql`project_id = ${projectId}`]),
          ...(status === undefined ? [] : [sql`status = ${status}`]),
          ...(agentId === undefined ? [] : [sql`agent_id = ${agentId}`]),
          ...(cronJobId === undefined ? [] : [sql`cron_job_id = ${cronJobId}`])
        ])
        return query(
          Effect.all({
            runs: storedRuns(sql`
              select ${runColumns} from runs where ${matching}
              order by created_at desc, id desc limit ${limit} offset ${offset}::bigint`),
            total: count(sql`select count(*)::int as count from runs where ${matching}`)
          })
        )
      },
      claim: ({ kind, leaseMillis, limit, perWorkspace, worker }) =>
        query(
          storedRuns(sql`
            with ${kind === "turn" ? oldestTurns(limit) : fairTasks(limit, perWorkspace)}, claimed as (
              update runs
              set status = 'RUNNING', worker = ${worker}, attempts = attempts + 1, epoch = epoch + 1,
                lease_until = ${lease(leaseMillis)}, started_at = coalesce(started_at, clock_timestamp()),
                updated_at = clock_timestamp()
              where id in (select id from picked)
              returning *)
            select ${runColumns} from claimed order by created_at, id`)
        ),
      takeOver: ({ kind = "task", leaseMillis, limit, maxCrashes, worker }) =>
        query(
          storedRuns(sql`
            with lost as (
              select id as lost_id, ${losses(worker)} from runs
              where kind = ${kind} and status = 'RUNNING' and lease_until <= clock_timestamp()
              order by lease_until limit ${limit} for update skip locked
            ), taken as (
              update runs
              set ${lost(maxCrashes, "RUNNING")}, worker = ${worker}, epoch = epoch + 1,
                attempts = attempts + (losses < ${maxCrashes}::int)::int,
                lease_until = ${lease(leaseMillis)}
              from lost where id = lost_id
              returning runs.*)
            select ${runColumns} from taken where status = 'RUNNING' order by created_at, id`)
        ),
      renew: (worker, executions, leaseMillis) =>
        executions.length === 0
          ? Effect.succeed(new Set())
          : query(
              Effect.map(
                ids(sql`
                  update runs set lease_until = ${lease(leaseMillis)}
                  from jsonb_to_recordset(${sql.json(executions.map(({ epoch, id }) => ({ epoch, id })))})
                    as own (id text, epoch integer)
                  where runs.id = own.id and runs.epoch = own.epoch
                    and worker = ${worker} and status = 'RUNNING'
                  returning runs.id`),
                (renewed) => new Set(renewed.map(({ id }) => id))
              )
            ),
      finish: ({ epoch, id, worker }, outcome, { at, firstTokenAt }, events) => {
        const output = outcome.status === "COMPLETED" ? outcome.output : null
        const error = outcome.status === "FAILED" ? outcome.error : null
        return query(
          returnedRow(sql`
            with ended as (
            update runs
            set status = ${outcome.status},
              output = given.output, error = given.error,
              error_code = ${outcome.status === "FAILED" ? outcome.code : null},
              input_tokens = ${outcome.usage.inputTokens}, output_tokens = ${outcome.usage.outputTokens},
              first_token_at = case when status = 'RUNNING'
                then coalesce(first_token_at, ${firstTokenAt}::timestamptz) else first_token_at end,
              finished_at = case when status = 'RUNNING' then ${at}::timestamptz else finished_at end,
              updated_at = case when status = 'RUNNING' then ${at}::timestamptz else updated_at end
            from (select ${output}::text as output, ${error}::text as error) given
            where id = ${id} and worker = ${worker} and epoch = ${epoch}
              and (status = 'RUNNING' or status = ${outcome.status}
                and (runs.output, runs.error) is not distinct from (given.output, given.error))
            returning id)${keeping(sql, "ended", events)}
            select id from ended`)
        )
      },
      cancel: (id, at) =>
        query(
          sql.withTransaction(
            Effect.tap(
              returnedRow(sql`
                update runs set status = 'CANCELLED', finished_at = ${at}, updated_at = ${at}
                where id = ${id} and status in ('PENDING', 'RUNNING', 'WAITING_APPROVAL')
                returning id`),
              // A statement of its own: the one above does not see what the run asked for while it was waited for.
              (isCancelled) =>
                Effect.when(
                  sql`update approvals set status = 'EXPIRED' where run_id = ${id} and status = 'PENDING'`,
                  Effect.succeed(isCancelled)
                )
            )
          )
        ),
      release: (worker, { crashed, kind = "task", maxCrashes }) =>
        query(
          Effect.asVoid(
            crashed
              ? sql`
                with lost as (
                  select id as lost_id, ${losses(null)} from runs
                  where worker = ${worker} and kind = ${kind} and status = 'RUNNING' for update
                )
                update runs set ${lost(maxCrashes, "PENDING")}, lease_until = null
                from lost where id = lost_id`
              : sql`
                update runs set status = 'PENDING', lease_until = null
                where worker = ${worker} and kind = ${kind} and status = 'RUNNING'`
          )
        ),
      prune: ({ eventsBefore, journalsBefore, limit }) =>
        query(
          count(sql`
            with aged as (
              (select id, kind, 1 as level from runs
                where pruned = 0 and finished_at < ${eventsBefore} order by finished_at limit ${limit})
              union all
              (select id, kind, 2 from runs
                where pruned = 1 and finished_at < ${journalsBefore} order by finished_at limit ${limit})
            ), due as materialized (
              select runs.id, aged.kind, aged.level from runs join aged using (id)
              order by id for update of runs skip locked
            ), events as (
              delete from run_events where run_id in (select id from due)
            ), steps as (
              delete from run_steps where run_id in (select id from due where level = 2 and kind = 'task')
            ), decisions as (
              delete from approvals where run_id in (select id from due where level = 2 and kind = 'task')
            ), turns as (
              delete from runs where id in (select id from due where level = 2 and kind = 'turn')
            ), marked as (
              update runs set pruned = due.level from due
              where runs.id = due.id and not (due.level = 2 and due.kind = 'turn')
            )
            select count(*)::int as count from due`)
        )
    })
  })
)
