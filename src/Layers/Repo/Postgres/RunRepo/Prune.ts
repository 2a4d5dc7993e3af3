import type { RunRepo } from "../../../../Services/RunRepo.ts"
import type { Database } from "../Database.ts"
import { count } from "../Rows.ts"

/** What is forgotten of runs that are over. */
export const make = ({ query, sql }: Database["Service"]): Pick<RunRepo["Service"], "prune"> => ({
  prune: ({ eventsBefore, journalsBefore, limit, runsBefore }) => {
    const gone = sql`coalesce(${runsBefore ?? null}::timestamptz, '-infinity')`
    const agedAt = (level: number, before: Date) => sql`
      (select id, ${level + 1}::int as level from runs
        where pruned = ${sql.literal(String(level))} and finished_at < greatest(${before}, ${gone})
        order by finished_at limit ${limit})`
    const aged = [agedAt(0, eventsBefore), agedAt(1, journalsBefore)]
    if (runsBefore !== undefined) aged.push(agedAt(2, runsBefore))
    return query(
      count(sql`
        with aged as (${sql.join(" union all ", false)(aged)}), due as materialized (
          select runs.id, aged.level,
            finished_at < ${gone} or (aged.level = 2 and kind = 'turn') as goes
          from runs join aged using (id) order by id for update of runs skip locked
        ), events as (
          delete from run_events where run_id in (select id from due)
        ), steps as (
          delete from run_steps where run_id in (select id from due where level = 2 and not goes)
        ), executions as (
          delete from run_executions where run_id in (select id from due where level = 2 and not goes)
        ), decisions as (
          delete from approvals where run_id in (select id from due where level = 2 and not goes)
        ), gone as (
          delete from runs where id in (select id from due where goes)
        ), marked as (
          update runs set pruned = due.level from due where runs.id = due.id and not goes
        )
        select count(*)::int as count from due`)
    )
  }
})
