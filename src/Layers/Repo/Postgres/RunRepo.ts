import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { RunId } from "../../../Schemas/Ids.ts"
import { StoredRun } from "../../../Schemas/Run.ts"
import { RunRepo } from "../../../Services/RunRepo.ts"
import { Database } from "./Database.ts"
import { count, firstRow, returnedRow, rows } from "./Rows.ts"

const run_ = firstRow(StoredRun)
const runs = rows(StoredRun)
const ids_ = rows(Schema.Struct({ id: RunId }))

export const layer = Layer.effect(
  RunRepo,
  Effect.gen(function* () {
    const { run, sql } = yield* Database

    const columns = sql.literal(`
      id, workspace_id as "workspaceId", project_id as "projectId", status, prompt, output,
      created_at as "createdAt", updated_at as "updatedAt", agent_id as "agentId", cron_job_id as "cronJobId",
      autonomy_level as "autonomyLevel", selected_provider as "selectedProvider",
      selected_model as "selectedModel", provider_key_id as "providerKeyId",
      connector_ids as "connectorIds", error, attempts`)

    return RunRepo.of({
      insert: (given) =>
        run(
          Effect.asVoid(sql`
            insert into runs (id, workspace_id, project_id, agent_id, cron_job_id, status, prompt, output, error,
              autonomy_level, selected_provider, selected_model, provider_key_id, connector_ids,
              attempts, created_at, updated_at)
            values (${given.id}, ${given.workspaceId}, ${given.projectId}, ${given.agentId}, ${given.cronJobId},
              ${given.status}, ${given.prompt}, ${given.output}, ${given.error}, ${given.autonomyLevel},
              ${given.selectedProvider}, ${given.selectedModel}, ${given.providerKeyId},
              ${given.connectorIds === null ? null : sql.json(given.connectorIds)},
              ${given.attempts}, ${given.createdAt}, ${given.updatedAt})`)
        ),
      find: (id) => run(run_(sql`select ${columns} from runs where id = ${id}`)),
      list: ({ agentId, cronJobId, limit, offset, projectId, status, workspaceId }) => {
        const matching = sql.and([
          sql`workspace_id = ${workspaceId}`,
          ...(projectId === undefined ? [] : [sql`project_id = ${projectId}`]),
          ...(status === undefined ? [] : [sql`status = ${status}`]),
          ...(agentId === undefined ? [] : [sql`agent_id = ${agentId}`]),
          ...(cronJobId === undefined ? [] : [sql`cron_job_id = ${cronJobId}`])
        ])
        return run(
          Effect.all({
            runs: runs(sql`
              select ${columns} from runs where ${matching}
              order by created_at desc, id desc limit ${limit} offset ${offset}::bigint`),
            total: count(sql`select count(*)::int as count from runs where ${matching}`)
          })
        )
      },
      claim: ({ leaseMillis, limit, worker }) =>
        run(
          runs(sql`
            with claimed as (
              update runs
              set status = 'RUNNING', worker = ${worker}, attempts = attempts + 1,
                lease_until = clock_timestamp() + ${leaseMillis}::int * interval '1 millisecond',
                updated_at = clock_timestamp()
              where id in (
                select id from runs
                where status in ('PENDING', 'RUNNING')
                  and (status = 'PENDING' or lease_until <= clock_timestamp())
                order by created_at, id
                limit ${limit}
                for update skip locked)
              returning *)
            select ${columns} from claimed order by created_at, id`)
        ),
      renew: (worker, ids, leaseMillis) =>
        ids.length === 0
          ? Effect.succeed(new Set())
          : run(
              Effect.map(
                ids_(sql`
                  update runs
                  set lease_until = clock_timestamp() + ${leaseMillis}::int * interval '1 millisecond'
                  where worker = ${worker} and status = 'RUNNING' and ${sql.in("id", ids)}
                  returning id`),
                (renewed) => new Set(renewed.map(({ id }) => id))
              )
            ),
      finish: (id, worker, outcome, at) => {
        const { inputTokens, outputTokens } = outcome.usage
        return run(
          returnedRow(sql`
            update runs
            set status = ${outcome.status},
              output = ${outcome.status === "COMPLETED" ? outcome.output : null},
              error = ${outcome.status === "FAILED" ? outcome.error : null},
              input_tokens = ${inputTokens}, output_tokens = ${outputTokens},
              worker = null, lease_until = null, updated_at = ${at}
            where id = ${id} and worker = ${worker} and status = 'RUNNING'
            returning id`)
        )
      },
      release: (worker) =>
        run(
          Effect.asVoid(sql`
            update runs set status = 'PENDING', worker = null, lease_until = null
            where worker = ${worker} and status = 'RUNNING'`)
        )
    })
  })
)
