import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { StoredFire } from "../../../Schemas/CronFire.ts"
import { CronFireRepo } from "../../../Services/CronFireRepo.ts"
import { makeColumns } from "./Columns.ts"
import * as Backlogs from "./CronFireRepo/Backlogs.ts"
import { ago, now } from "./CronFireRepo/Clock.ts"
import * as Due from "./CronFireRepo/Due.ts"
import * as Ledger from "./CronFireRepo/Ledger.ts"
import { Database } from "./Database.ts"
import { isThere } from "./Removed.ts"
import { count, rows } from "./Rows.ts"

const fires = rows(StoredFire)
const fireColumns = makeColumns(StoredFire, {
  outcome: {
    read: "case when is_backfilled then 'backfilled' when is_spent then 'budget_exceeded' else outcome end"
  }
}).read()

export const layer = Layer.effect(
  CronFireRepo,
  Effect.gen(function* () {
    const database = yield* Database
    const { query, read, sql } = database
    return CronFireRepo.of({
      ...Due.make(database),
      ...Ledger.make(database),
      ...Backlogs.make(database),
      now: query(now(sql)),
      list: ({ cronJobId, limit, offset }) =>
        read(
          cronJobId,
          fires(sql`
            select ${fireColumns} from cron_fires where cron_job_id = ${cronJobId} and ${isThere(sql, "cron_jobs", cronJobId)}
            order by scheduled_at desc limit ${limit} offset ${offset}::bigint`)
        ),
      forget: (keepMillis, limit) =>
        query(
          count(sql`
            with old as (
              delete from cron_fires where ctid = any(array(
                select ctid from cron_fires
                where scheduled_at < ${ago(sql, keepMillis)}
                order by scheduled_at limit ${limit} for update skip locked))
              returning 1)
            select count(*)::int as count from old`)
        )
    })
  })
)
