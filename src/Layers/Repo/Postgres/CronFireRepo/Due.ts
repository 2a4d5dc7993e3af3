import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import { backfillLookMillis, DueJob, NextDue } from "../../../../Schemas/CronFire.ts"
import { Policy } from "../../../../Schemas/Policy.ts"
import type { CronFireRepo } from "../../../../Services/CronFireRepo.ts"
import { makeColumns } from "../Columns.ts"
import type { Database } from "../Database.ts"
import { unlessMarked } from "../Removed.ts"
import { firstRow, rows } from "../Rows.ts"
import { clockText, now } from "./Clock.ts"

const nextDue = firstRow(NextDue)
const Locked = Schema.Struct({ id: Schema.String, agentId: Schema.NullOr(Schema.String) })
const locked = rows(Locked)
// A job whose agent is being removed has none any more.
const agentId = { read: unlessMarked("agent_id", "agents") }
const lockedColumns = makeColumns(Locked, { agentId }).read()
const AgentState = Schema.Struct({
  id: Schema.String,
  isActive: Schema.Boolean,
  policy: Schema.NullOr(Policy)
})
type AgentState = typeof AgentState.Type
const agents = rows(AgentState)
const agentColumns = makeColumns(AgentState, { policy: "json" }).read()

const Due = Schema.Struct({ ...DueJob.fields, at: Schema.Date })
const dueJobs = rows(Due)
const readOf = (slot: string) => ({
  agentId,
  slot: { read: slot },
  // Known since the agents were locked.
  agentIsActive: { read: "true" },
  agentPolicy: { read: "null" },
  policy: "json" as const,
  isBusy: {
    read: `exists (select from runs r where r.cron_job_id = c.id
      and r.status in ('PENDING', 'RUNNING', 'WAITING_APPROVAL'))`
  },
  isSpent: {
    read: `exists (
      select from workspace_budgets b cross join lateral budget_reached(b.workspace_id)
      where b.workspace_id = c.workspace_id)`
  },
  at: { read: clockText }
})
const dueColumns = makeColumns(Due, readOf("next_fire_at")).read()

/** As those of due jobs, of which the oldest slot that waits to be made up is the one. */
export const backfillColumns = makeColumns(
  Due,
  readOf("(select min(scheduled_at) from cron_backfills b where b.cron_job_id = c.id)")
).read()

const millisUntil = (column: string) => `extract(epoch from ${column} - clock_timestamp())::float8 * 1000`

/** Which jobs are taken, and the longest due first. */
interface Wanted {
  readonly where: Fragment
  readonly by: Fragment
}

/**
 * Locks due jobs and their agents. Those who store runs or slots of a job hold a share of its key, which is no
 * reason to pass it by, and waiting for which could never end: they may wait for what a claim locks next.
 */
const take = (
  sql: PgClient,
  wanted: Wanted,
  limit: number,
  held: ReadonlyArray<string>
): Effect.Effect<
  { readonly ids: ReadonlyArray<string>; readonly states: ReadonlyMap<string, AgentState> },
  SqlError | Schema.SchemaError
> =>
  Effect.gen(function* () {
    const taken = yield* locked(sql`
      select ${lockedColumns} from cron_jobs
      where ${wanted.where}
      ${held.length === 0 ? sql.literal("") : sql`and (agent_id is null or not ${sql.in("agent_id", held)})`}
      order by ${wanted.by} limit ${limit} for no key update skip locked`)
    const agentIds = Array.from(new Set(taken.flatMap(({ agentId }) => (agentId === null ? [] : [agentId]))))
    // An agent that is being removed or changed waits for these jobs: waiting for it would never end.
    const known =
      agentIds.length === 0
        ? []
        : yield* agents(sql`
            select ${agentColumns} from agents
            where ${sql.in("id", agentIds)} for share skip locked`)
    const states = new Map(known.map((agent) => [agent.id, agent]))
    // Jobs that stay behind an agent take no place from those behind them.
    if (states.size < agentIds.length && taken.length === limit) {
      return yield* take(sql, wanted, limit, [...held, ...agentIds.filter((id) => !states.has(id))])
    }
    const ids = taken.flatMap(({ agentId, id }) => (agentId === null || states.has(agentId) ? [id] : []))
    return { ids, states }
  })

/** Takes jobs with their agents, and reads what `read` says of those of `isOne`, as `c`. */
export const claimJobs = Effect.fnUntraced(function* <
  A extends { readonly at: Date; readonly agentId: string | null }
>(
  sql: PgClient,
  wanted: Wanted,
  limit: number,
  read: (isOne: Fragment) => Effect.Effect<ReadonlyArray<A>, SqlError | Schema.SchemaError>
) {
  const { ids, states } = yield* take(sql, wanted, limit, [])
  if (ids.length === 0) return { at: yield* now(sql), jobs: [] }
  // Asked after the locks were taken, so that whatever a former holder wrote is seen.
  const found = yield* read(sql.in("c.id", ids))
  return {
    at: found[0]?.at ?? (yield* now(sql)),
    jobs: found.map(({ at: _, ...job }) => {
      const agent = job.agentId === null ? undefined : states.get(job.agentId)
      return {
        ...job,
        agentIsActive: job.agentId === null || agent?.isActive === true,
        agentPolicy: agent?.policy ?? null
      }
    })
  }
})

/** Which jobs are due, and when the next will be. */
export const make = ({
  query,
  sql
}: Database["Service"]): Pick<CronFireRepo["Service"], "untilDue" | "claim"> => ({
  untilDue: query(
    nextDue(sql`
      select what, millis from (
        (select 'slot' as what, ${sql.literal(millisUntil("next_fire_at"))} as millis
          from cron_jobs where next_fire_at is not null order by next_fire_at limit 1)
        union all
        (select 'backfill', least(${sql.literal(millisUntil("backfill_at"))}, ${backfillLookMillis}::float8)
          from cron_jobs where backfill_at is not null and deleted_at is null order by backfill_at limit 1)) next
      order by greatest(millis, 0), what desc limit 1`)
  ),
  claim: (limit) => {
    const wanted = {
      where: sql.literal(`next_fire_at <= ${clockText}`),
      by: sql.literal("next_fire_at")
    }
    return query(
      claimJobs(sql, wanted, limit, (isOne) =>
        dueJobs(sql`select ${dueColumns} from cron_jobs c where ${isOne} order by next_fire_at, id`)
      )
    )
  }
})
