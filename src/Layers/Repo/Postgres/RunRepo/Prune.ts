import type { RunRepo } from "../../../../Services/RunRepo.ts"
import type { Database } from "../Database.ts"
import { count } from "../Rows.ts"

/** What is forgotten of runs that are over. */
export const make = ({ query, sql }: Database["Service"]): Pick<RunRepo["Service"], "prune"> => ({
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
