import { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import { wrongTotals } from "./RunTotals.ts"

/**
 * How long ago what `prune` forgets is over at least, and how many runs of a kind are RUNNING at most in a workspace and
 * in all that one user made.
 */
export interface Bounds {
  readonly perWorkspace: number
  readonly turnsPerWorkspace: number
  readonly perOwner: number
  readonly eventMillis: number
  readonly journalMillis: number
}

/**
 * What is wrong at one moment: one statement sees one snapshot, however many write meanwhile. Empty when all
 * invariants hold.
 */
export const problems = ({ eventMillis, journalMillis, perOwner, perWorkspace, turnsPerWorkspace }: Bounds) =>
  Effect.gen(function* () {
    const sql = yield* PgClient
    const found = yield* sql<{ problem: string }>`
      with counted as (
        select w.id, w.created_by, k.kind,
          count(r.id) filter (where r.status = 'PENDING' and r.not_before is null)::int as queued,
          count(r.id) filter (where r.status = 'PENDING' and r.not_before is not null)::int as scheduled,
          count(r.id) filter (where r.status = 'RUNNING')::int as running
        from workspaces w cross join (values ('task'), ('turn')) k (kind)
        left join runs r on r.workspace_id = w.id and r.kind = k.kind group by w.id, k.kind
      ), active as (
        select id, conversation_id from runs
        where kind = 'turn' and status in ('PENDING', 'RUNNING', 'WAITING_APPROVAL')
      ), ordered as (
        select run_id, first_id, last_id, lag(last_id) over (partition by run_id order by first_id) as before
        from run_events
      )
      select format('run_slots: %s counts %s %ss waiting and %s running, and has %s and %s', s.workspace_id, s.queued,
        s.kind, s.running, c.queued, c.running) as problem
      from counted c full join run_slots s on s.workspace_id = c.id and s.kind = c.kind
      where (s.queued, s.scheduled, s.running, s.owner_id)
        is distinct from (c.queued, c.scheduled, c.running, c.created_by)
      union all
      select format('limit: %s %ss are running in %s', running, kind, id) from counted
      where running > case kind when 'task' then ${perWorkspace}::int else ${turnsPerWorkspace}::int end
      union all
      select format('limit: %s %ss are running of %s', sum(running), kind, created_by) from counted
      where created_by is not null group by created_by, kind having sum(running) > ${perOwner}::int
      union all
      select format('turn: %s is active, and %s names %s', a.id, a.conversation_id, c.turn_id)
      from active a left join conversations c on c.id = a.conversation_id where c.turn_id is distinct from a.id
      union all
      select format('turn: %s names %s, which is not active in it', c.id, c.turn_id) from conversations c
      where c.turn_id is not null
        and not exists (select from active a where a.id = c.turn_id and a.conversation_id = c.id)
      union all
      select format('turn: %s are active in %s', count(*), conversation_id) from active
      group by conversation_id having count(*) > 1
      union all
      select format('approval: %s is PENDING, and %s is %s', a.id, r.id, r.status)
      from approvals a join runs r on r.id = a.run_id
      where a.status = 'PENDING' and r.status <> 'WAITING_APPROVAL'
      union all
      select format('events: %s to %s of %s begin before %s', first_id, last_id, run_id, before) from ordered
      where first_id <= before or last_id < first_id
      union all
      select format('prune: %s was forgotten too early', id) from runs
      where (pruned >= 1 and finished_at > clock_timestamp() - ${eventMillis}::int * interval '1 millisecond')
        or (pruned = 2 and finished_at > clock_timestamp() - ${journalMillis}::int * interval '1 millisecond')
        or (pruned > 0 and status not in ('COMPLETED', 'FAILED', 'CANCELLED'))
      limit 10`
    return [...found, ...(yield* wrongTotals)].map(({ problem }) => problem)
  })
