import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import type { SqlError } from "effect/sql/SqlError"
import { Backlog, DueJob, StoredFire } from "../../../Schemas/CronFire.ts"
import { RunId } from "../../../Schemas/Ids.ts"
import { CronFireRepo } from "../../../Services/CronFireRepo.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import { count, firstRow, onlyRow, rows } from "./Rows.ts"
import { insertRuns } from "./RunColumns.ts"

const moment = onlyRow(Schema.Struct({ at: Schema.Date }))
const wait = firstRow(Schema.Struct({ millis: Schema.Finite }))
const Locked = Schema.Struct({ id: Schema.String, agentId: Schema.NullOr(Schema.String) })
const locked = rows(Locked)
const lockedColumns = makeColumns(Locked, {}).read()
const AgentState = Schema.Struct({ id: Schema.String, isActive: Schema.Boolean })
const agents = rows(AgentState)
const agentColumns = makeColumns(AgentState, {}).read()

// A subquery is asked once, so that the index finds what is due; the function itself would be asked per row.
const clockText = "(select clock_timestamp())"

const Due = Schema.Struct({ ...DueJob.fields, at: Schema.Date })
const dueJobs = rows(Due)
const dueColumns = makeColumns(Due, {
  slot: { read: "next_fire_at" },
  // Known since the agents were locked.
  agentIsActive: { read: "true" },
  isBusy: {
    read: `exists (select from runs r where r.cron_job_id = c.id
      and r.status in ('PENDING', 'RUNNING', 'WAITING_APPROVAL'))`
  },
  at: { read: clockText }
}).read()
const made = rows(Schema.Struct({ id: RunId }))
const backlogColumns = makeColumns(
  Schema.Struct(Struct.pick(Backlog.fields, ["cronJobId", "schedule", "timezone"])),
  {}
).read("b")
const claimedBacklog = firstRow(Schema.Struct({ ...Backlog.fields, at: Schema.Date }))
const fires = rows(StoredFire)
const fireColumns = makeColumns(StoredFire, {}).read()

export const layer = Layer.effect(
  CronFireRepo,
  Effect.gen(function* () {
    const { query, sql } = yield* Database
    const now = Effect.map(moment(sql`select clock_timestamp() as at`), ({ at }) => at)

    const clock = sql.literal(clockText)
    const ago = (millis: number) => sql`${clock} - ${millis}::float8 * interval '1 millisecond'`

    /**
     * Locks due jobs and their agents. Those who store runs or slots of a job hold a share of its key, which is no
     * reason to pass it by, and waiting for which could never end: they may wait for what a claim locks next.
     */
    const take = (
      limit: number,
      held: ReadonlyArray<string>
    ): Effect.Effect<
      { readonly ids: ReadonlyArray<string>; readonly isActive: ReadonlyMap<string, boolean> },
      SqlError | Schema.SchemaError
    > =>
      Effect.gen(function* () {
        const taken = yield* locked(sql`
          select ${lockedColumns} from cron_jobs
          where next_fire_at <= ${clock}
          ${held.length === 0 ? sql.literal("") : sql`and (agent_id is null or not ${sql.in("agent_id", held)})`}
          order by next_fire_at limit ${limit} for no key update skip locked`)
        const agentIds = Array.from(
          new Set(taken.flatMap(({ agentId }) => (agentId === null ? [] : [agentId])))
        )
        // An agent that is being removed or changed waits for these jobs: waiting for it would never end.
        const known =
          agentIds.length === 0
            ? []
            : yield* agents(sql`
                select ${agentColumns} from agents
                where ${sql.in("id", agentIds)} for share skip locked`)
        const isActive = new Map(known.map((agent) => [agent.id, agent.isActive]))
        // Jobs that stay behind an agent take no place from those behind them.
        if (isActive.size < agentIds.length && taken.length === limit) {
          return yield* take(limit, [...held, ...agentIds.filter((id) => !isActive.has(id))])
        }
        const ids = taken.flatMap(({ agentId, id }) =>
          agentId === null || isActive.has(agentId) ? [id] : []
        )
        return { ids, isActive }
      })

    return CronFireRepo.of({
      now: query(now),
      untilDue: query(
        Effect.map(
          wait(sql`
            select extract(epoch from next_fire_at - clock_timestamp())::float8 * 1000 as millis
            from cron_jobs where next_fire_at is not null order by next_fire_at limit 1`),
          Option.map(({ millis }) => millis)
        )
      ),
      claim: (limit) =>
        query(
          Effect.gen(function* () {
            const { ids, isActive } = yield* take(limit, [])
            if (ids.length === 0) return { at: yield* now, jobs: [] }
            // Asked after the locks were taken, so that whatever a former holder wrote is seen.
            const found = yield* dueJobs(sql`
              select ${dueColumns}
              from cron_jobs c where ${sql.in("id", ids)} order by next_fire_at, id`)
            const at = found[0]?.at ?? (yield* now)
            return {
              at,
              jobs: found.map(({ at: _, ...job }) => ({
                ...job,
                agentIsActive: job.agentId === null || isActive.get(job.agentId) === true
              }))
            }
          })
        ),
      record: ({ backlogs, firedAt, next, slots }) =>
        query(
          Effect.map(
            made(sql`
              with slots as materialized (
                select * from jsonb_to_recordset(${sql.json(
                  slots.map(({ cronJobId, outcome, run, scheduledAt }) => ({
                    job: cronJobId,
                    at: scheduledAt.toISOString(),
                    outcome,
                    run: run?.id ?? null
                  }))
                )}) as s(job text, at timestamptz, outcome text, run text)
              ), fired as (
                insert into cron_fires (cron_job_id, scheduled_at, fired_at, outcome, run_id)
                select job, at, ${firedAt}::timestamptz, outcome, run from slots order by job, at
                on conflict do nothing
                returning run_id
              ), left_over as (
                insert into cron_backlogs (cron_job_id, schedule, timezone, missed_from, missed_until)
                select * from jsonb_to_recordset(${sql.json(
                  backlogs.map((backlog) => ({
                    ...backlog,
                    from: backlog.from.toISOString(),
                    until: backlog.until.toISOString()
                  }))
                )}) as b("cronJobId" text, schedule text, timezone text, "from" timestamptz, until timestamptz)
                on conflict do nothing
              ), moved as (
                update cron_jobs set next_fire_at = n.at
                from jsonb_to_recordset(${sql.json(
                  next.map(({ cronJobId, nextFireAt }) => ({
                    job: cronJobId,
                    at: nextFireAt?.toISOString() ?? null
                  }))
                )}) as n(job text, at timestamptz)
                where cron_jobs.id = n.job and ${sql.in(
                  "id",
                  // Says how few they are: of a set from JSON the planner expects too many for the index.
                  next.map(({ cronJobId }) => cronJobId)
                )}
              )
              ${insertRuns(
                sql,
                slots.flatMap(({ run }) => (run === null ? [] : [run])),
                sql.literal("r.id in (select run_id from fired)")
              )}
              returning id`),
            (created) => created.map(({ id }) => id)
          )
        ),
      // With the job, that a removal of it has locked or waits: slots refer to it.
      claimBacklog: (keepMillis) =>
        query(
          Effect.map(
            claimedBacklog(sql`
              select ${backlogColumns}, b.missed_until as until,
                greatest(b.missed_from, date_trunc('second', ${ago(keepMillis)})) as "from", ${clock} as at
              from cron_backlogs b join cron_jobs c on c.id = b.cron_job_id
              limit 1 for update of b skip locked for key share of c skip locked`),
            Option.map(({ at, ...backlog }) => ({ at, backlog }))
          )
        ),
      recordMissed: ({ cronJobId, until }, { at, rest, slots }) => {
        const written = sql`
          insert into cron_fires (cron_job_id, scheduled_at, fired_at, outcome)
          select ${cronJobId}, slot::timestamptz, ${at}::timestamptz, 'missed'
          from jsonb_array_elements_text(${sql.json(slots.map((slot) => slot.toISOString()))}) as s(slot)
          on conflict do nothing`
        const moved =
          rest === null
            ? sql`delete from cron_backlogs where cron_job_id = ${cronJobId} and missed_until = ${until}`
            : sql`
              update cron_backlogs set missed_from = ${rest.from}
              where cron_job_id = ${cronJobId} and missed_until = ${until}`
        return query(Effect.asVoid(Effect.andThen(written, moved)))
      },
      list: ({ cronJobId, limit, offset }) =>
        query(
          fires(sql`
            select ${fireColumns} from cron_fires where cron_job_id = ${cronJobId}
            order by scheduled_at desc limit ${limit} offset ${offset}::bigint`)
        ),
      forget: (keepMillis, limit) =>
        query(
          count(sql`
            with old as (
              delete from cron_fires where ctid = any(array(
                select ctid from cron_fires
                where scheduled_at < ${ago(keepMillis)}
                order by scheduled_at limit ${limit} for update skip locked))
              returning 1)
            select count(*)::int as count from old`)
        )
    })
  })
)
