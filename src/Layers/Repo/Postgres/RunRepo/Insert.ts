import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import { type BudgetExceeded, budgetExceeded } from "../../../../Schemas/Budget.ts"
import type { PlanLimitExceeded } from "../../../../Schemas/Connector.ts"
import { type ByPlan, quotaExceeded } from "../../../../Schemas/Quotas.ts"
import { kindOf, RunStatus, type StoredRun } from "../../../../Schemas/Run.ts"
import { Plan } from "../../../../Schemas/Workspace.ts"
import type { Claimant, RunRepo, Shares } from "../../../../Services/RunRepo.ts"
import { reachedOf } from "../Budgets.ts"
import { makeColumns } from "../Columns.ts"
import type { Database } from "../Database.ts"
import { keeping } from "../EventBatches.ts"
import * as Joined from "../Joined.ts"
import { goneOf, orOnlyGone } from "../Named.ts"
import { mostOf } from "../Quotas.ts"
import { firstRow } from "../Rows.ts"
import { insertRun } from "../RunColumns.ts"
import { leaseEnd } from "./Lease.ts"
import { newest, noLimit, runningOf } from "./Owners.ts"

const Answer = Schema.Struct({
  status: Schema.NullOr(RunStatus),
  /** The plan that allows no more to wait. */
  full: Schema.NullOr(Plan),
  /** The limit of the budget that is reached. */
  spent: Schema.NullOr(Schema.Struct({ reached: Schema.String, amount: Schema.Finite }))
})
type Answer = typeof Answer.Type
export const answered = firstRow(Answer)
/** Out of `made`, `full_plan` and `spent`. */
export const answerColumns = makeColumns(Answer, {
  status: { read: "(select status from made)" },
  full: { read: "(select plan from full_plan)" },
  spent: { read: "(select to_json(spent) from spent)" }
}).read()

/** Whether the statement did anything, if only refuse. */
export const isWritten = ({ full, spent, status }: Answer): boolean =>
  full !== null || spent !== null || status !== null

/** Whether the run has started. */
export const toStarted = (
  { full, spent, status }: Answer,
  mostPending: ByPlan | undefined
): Effect.Effect<boolean, BudgetExceeded | PlanLimitExceeded> => {
  if (spent !== null) return Effect.fail(budgetExceeded(reachedOf(spent)))
  return full === null
    ? Effect.succeed(status === "RUNNING")
    : Effect.fail(quotaExceeded("pendingRuns", full, mostPending?.[full] ?? null))
}

/**
 * `workspace, counts, …, room, full_plan, spent as (…)`: a row of `room` if workspace and owner have a place that no run
 * of the workspace waits for; of `full_plan` if no more may wait; of `spent` if the budget of the month is used up. All
 * are empty, and nothing of them is locked, unless `wanted`.
 */
export const roomFor = (
  sql: PgClient,
  given: StoredRun,
  { perOwner = noLimit, perWorkspace }: Shares,
  mostPending: ByPlan | undefined,
  wanted: Fragment = sql.literal("true")
) => {
  const kind = kindOf(given)
  return sql`
  workspace as materialized (
    select id, plan from workspaces where id = ${given.workspaceId} for key share
  ), counts as materialized (
    select owner_id, queued + scheduled as pending, queued = 0 and running < ${perWorkspace}::int as is_open from run_slots
    where workspace_id = (select id from workspace) and kind = ${kind} and not exists (select from gone)
      and ${wanted}
    ${sql.literal(newest)} for update
  ), ${runningOf(sql, kind, sql.literal("select owner_id from counts where is_open"), { waits: true })}, room as (
    select from counts c left join running_of r on r.owner_id = c.owner_id
    where is_open and (c.owner_id is null or r.running < ${perOwner}::int)
  ), full_plan as materialized (
    select plan from workspace, counts
    where not exists (select from room) and pending >= ${mostOf(sql, mostPending)}
  ), spent as materialized (
    select reached, amount from workspace_budgets b cross join lateral budget_reached(b.workspace_id)
    where b.workspace_id = (select id from workspace) and not exists (select from gone) and ${wanted}
  )`
}

/** Nothing that is named is gone, one more may wait, and there is money left. */
export const isAllowed =
  "not exists (select from gone) and not exists (select from full_plan) and not exists (select from spent)"

/** `free as (…)`: a row, which says whether there is room. */
export const freeIn = "free as (select exists (select from room) as free)"

/** The run out of `from`, of which `free` says whether it starts at once. */
export const insertStarted = (sql: PgClient, given: StoredRun, start: Claimant | undefined, from: Fragment) =>
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
    from
  )

interface Inserted {
  /** Those of one key lock the same rows, in the same order. */
  readonly key: string
  readonly write: Effect.Effect<Option.Option<Answer>, SqlError | Schema.SchemaError>
}

const keyOf = (run: StoredRun): string => {
  const { agentId, cronJobId, projectId, providerKeyId, workspaceId } = run
  return JSON.stringify([workspaceId, kindOf(run), agentId, cronJobId, projectId, providerKeyId])
}

/**
 * Who makes a run locks the counts of its workspace till the commit: those that come meanwhile have one commit
 * together. A statement each, in one transaction; where one of them breaks it each has a transaction of its own.
 */
export const make = Effect.fnUntraced(function* ({ change, query, sql }: Database["Service"]) {
  const insert = yield* Joined.make(
    { query, sql },
    {
      keyOf: ({ key }: Inserted) => key,
      together: (given) => {
        const written = Effect.forEach(given, ({ write }) => write)
        return query(given.length === 1 ? written : sql.withTransaction(written))
      },
      alone: ({ write }) => query(write)
    }
  )
  return {
    insert: (given, start, events, mostPending) =>
      change((audit) =>
        // What it names is locked before the counts of the workspace, for which others may wait with a run that the last
        // step of a removal waits for; and these before the counts of the owner.
        insert({
          key: keyOf(given),
          write: answered(sql`
            with ${goneOf(sql, given)}, ${roomFor(sql, given, start ?? { perWorkspace: 0 }, mostPending)},
            ${sql.literal(freeIn)}, made as (
              ${insertStarted(sql, given, start, sql.literal(`free where ${isAllowed}`))}
              returning id, status)${keeping(sql, "made", events)}${audit.of("made")}
            select ${answerColumns}`)
        }).pipe(Effect.map(Option.filter(isWritten)), orOnlyGone(sql, given))
      ).pipe(Effect.flatMap((answer) => toStarted(answer, mostPending)))
  } satisfies Pick<RunRepo["Service"], "insert">
})
