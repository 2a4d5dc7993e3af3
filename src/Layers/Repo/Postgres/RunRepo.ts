import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { StoredRun } from "../../../Schemas/Run.ts"
import { RunRepo } from "../../../Services/RunRepo.ts"
import { Database } from "./Database.ts"
import { isReadable, isThere } from "./Removed.ts"
import { count, firstRow, rows } from "./Rows.ts"
import { runColumns } from "./RunColumns.ts"
import * as Claims from "./RunRepo/Claims.ts"
import * as Ends from "./RunRepo/Ends.ts"
import * as Insert from "./RunRepo/Insert.ts"
import * as Losses from "./RunRepo/Losses.ts"
import * as Prune from "./RunRepo/Prune.ts"

const storedRun = firstRow(StoredRun)
const storedRuns = rows(StoredRun)

export const layer = Layer.effect(
  RunRepo,
  Effect.gen(function* () {
    const database = yield* Database
    const { query, sql } = database

    return RunRepo.of({
      ...Insert.make(database),
      ...Claims.make(database),
      ...Losses.make(database),
      ...Ends.make(database),
      ...Prune.make(database),
      find: (id) =>
        query(storedRun(sql`select ${runColumns} from runs where id = ${id} and ${isReadable(sql, id)}`)),
      list: ({ agentId, cronJobId, limit, offset, projectId, status, workspaceId }) => {
        const matching = sql.and([
          sql`kind = 'task' and workspace_id = ${workspaceId}`,
          ...(projectId === undefined ? [] : [sql`project_id = ${projectId}`]),
          ...(status === undefined ? [] : [sql`status = ${status}`]),
          ...(agentId === undefined
            ? []
            : [sql`agent_id = ${agentId} and ${isThere(sql, "agents", agentId)}`]),
          ...(cronJobId === undefined
            ? []
            : [sql`cron_job_id = ${cronJobId} and ${isThere(sql, "cron_jobs", cronJobId)}`])
        ])
        return query(
          Effect.all({
            runs: storedRuns(sql`
              select ${runColumns} from runs where ${matching}
              order by created_at desc, id desc limit ${limit} offset ${offset}::bigint`),
            total: count(sql`select count(*)::int as count from runs where ${matching}`)
          })
        )
      }
    })
  })
)
