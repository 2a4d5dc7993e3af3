import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { notFound } from "../../../../Schemas/Errors.ts"
import { type ByPlan, quotaExceeded } from "../../../../Schemas/Quotas.ts"
import { StoredRun } from "../../../../Schemas/Run.ts"
import { RunNotRetryable, retried, retryEvent, retryProblem } from "../../../../Schemas/RunRetry.ts"
import { Plan } from "../../../../Schemas/Workspace.ts"
import type { RunRepo } from "../../../../Services/RunRepo.ts"
import { makeColumns } from "../Columns.ts"
import type { Database } from "../Database.ts"
import { keeping } from "../EventBatches.ts"
import { mostOf } from "../Quotas.ts"
import { firstRow, onlyRow } from "../Rows.ts"
import { runColumns } from "../RunColumns.ts"
import { newest } from "./Owners.ts"

const storedRun = firstRow(StoredRun)
const State = Schema.Struct({
  isForgotten: Schema.Boolean,
  lastId: Schema.Int,
  /** The plan that allows no more to wait. */
  full: Schema.NullOr(Plan)
})
const stateOf = onlyRow(State)
const stateColumns = makeColumns(State, {
  isForgotten: { read: "pruned >= 2" },
  lastId: {
    read: `coalesce((
      select last_id from run_events where run_id = runs.id order by first_id desc limit 1), 0)::float8`
  },
  full: { read: "(select plan from full_plan)" }
}).read()

/** How runs that are over go on. */
export const make = ({ change, sql }: Database["Service"]): Pick<RunRepo["Service"], "retry"> => {
  /**
   * Of a run that is locked, as whoever ends one has it before the counts of its workspace; those are locked as by who
   * makes a run, so that what follows is exact.
   */
  const look = ({ id, workspaceId }: StoredRun, mostPending: ByPlan | undefined) =>
    stateOf(sql`
      with workspace as materialized (
        select id, plan from workspaces where id = ${workspaceId} for key share
      ), counts as materialized (
        select queued + scheduled as pending from run_slots
        where workspace_id = (select id from workspace) and kind = 'task' ${sql.literal(newest)} for update
      ), full_plan as materialized (
        select plan from workspace, counts where pending >= ${mostOf(sql, mostPending)})
      select ${stateColumns} from runs where id = ${id}`)

  return {
    retry: (id, at, mostPending) =>
      change((audit) =>
        sql.withTransaction(
          Effect.gen(function* () {
            const found = yield* storedRun(
              sql`select ${runColumns} from runs where id = ${id} for no key update`
            )
            if (Option.isNone(found)) return yield* notFound("run")
            const run = found.value
            const { full, isForgotten, lastId } = yield* look(run, mostPending)
            const problem = retryProblem(run, isForgotten)
            if (problem !== undefined) return yield* new RunNotRetryable({ error: problem })
            if (full !== null) return yield* quotaExceeded("pendingRuns", full, mostPending?.[full] ?? null)
            const again = retried(run, at)
            yield* sql`
              with again as (
                update runs
                set status = ${again.status}, not_before = null, output = null, error = null, error_code = null,
                  epoch = ${again.epoch}, finished_at = null, updated_at = ${at}, worker = null,
                  lease_until = null, crashes = 0, pruned = 0
                where id = ${id} returning id
              ), steps as (
                update run_steps s
                set worked_millis = 0, index = case when s.step ? 'truncated' and s.index >= 0
                  then -1 - (select count(*) from run_steps where run_id = ${id} and index < 0)::int
                  else s.index end
                where run_id = ${id}
              ), asked as (
                delete from approvals where run_id = ${id} and status = 'EXPIRED'
              )${keeping(sql, "again", [[retryEvent(run, lastId)]])}${audit.of("again")}
              select id from again`
            return again
          })
        )
      )
  }
}
