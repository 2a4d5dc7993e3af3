import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { RunKind } from "../../../Schemas/Run.ts"
import { type RunCount, RunCounts } from "../../../Services/RunCounts.ts"
import { Database } from "./Database.ts"
import { rows } from "./Rows.ts"

const counted = rows(
  Schema.Struct({
    kind: RunKind,
    waiting: Schema.Int,
    running: Schema.Int,
    parked: Schema.Int,
    oldestWaitingSeconds: Schema.Finite
  }).pipe(Schema.encodeKeys({ oldestWaitingSeconds: "oldest_waiting_seconds" }))
)

const nothing: RunCount = { waiting: 0, running: 0, parked: 0, oldestWaitingSeconds: 0 }

export const layer = Layer.effect(
  RunCounts,
  Effect.map(Database, ({ query, sql }) => {
    // What waits by the counts that workspaces have anyway, and the oldest of each; what runs by the partial index of
    // what is not over. Parked runs have none: they are found by what they wait for.
    const statement = sql`
      with waiting as (
        select s.kind, sum(s.queued) as waiting, min(oldest.updated_at) as since
        from run_slots s left join lateral (
          select updated_at from runs
          where workspace_id = s.workspace_id and status = 'PENDING' and not_before is null and kind = s.kind
          order by created_at, id limit 1
        ) oldest on true
        where s.is_waiting and s.queued > 0 group by s.kind
      ), running as (
        select kind, count(*) as running from runs where status = 'RUNNING' group by kind
      ), parked as (
        select r.kind, count(distinct r.id) as parked
        from approvals a join runs r on r.id = a.run_id
        where a.status = 'PENDING' and r.status = 'WAITING_APPROVAL' group by r.kind
      )
      select kind, coalesce(waiting, 0)::int as waiting, coalesce(running, 0)::int as running,
        coalesce(parked, 0)::int as parked,
        coalesce(greatest(extract(epoch from clock_timestamp() - since), 0), 0)::float8 as oldest_waiting_seconds
      from waiting full join running using (kind) full join parked using (kind)`
    return RunCounts.of({
      read: query(
        Effect.map(counted(statement), (found) => {
          const of = (wanted: RunKind): RunCount => {
            const row = found.find(({ kind }) => kind === wanted)
            if (row === undefined) return nothing
            const { kind: _, ...count } = row
            return count
          }
          return { task: of("task"), turn: of("turn") }
        })
      )
    })
  })
)
