import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Agent, type UpdateAgent } from "../../../Schemas/Agent.ts"
import { AgentRepo } from "../../../Services/AgentRepo.ts"
import { Database } from "./Database.ts"
import { firstRow, onlyRow, returnedRow, rows } from "./Rows.ts"

const agent = firstRow(Agent)
const inserted = onlyRow(Agent)
const agents = rows(Agent)

export const layer = Layer.effect(
  AgentRepo,
  Effect.gen(function* () {
    const { run, sql } = yield* Database

    const read = (from: "agents" | "changed") => sql`
      select a.id, a.workspace_id as "workspaceId", a.project_id as "projectId", a.name, a.description,
        a.system_prompt as "systemPrompt", a.is_active as "isActive",
        a.provider_key_id as "providerKeyId",
        case when k.id is not null then json_build_object(
          'id', k.id, 'name', k.name, 'provider', k.provider, 'model', k.model) end as "providerKey",
        a.created_at as "createdAt", a.updated_at as "updatedAt"
      from ${sql.literal(from)} a left join provider_keys k on k.id = a.provider_key_id`

    return AgentRepo.of({
      insert: (given) =>
        run(
          inserted(sql`
              with changed as (
                insert into agents (id, workspace_id, project_id, name, description, system_prompt,
                  is_active, provider_key_id, created_at, updated_at)
                values (${given.id}, ${given.workspaceId}, ${given.projectId}, ${given.name},
                  ${given.description}, ${given.systemPrompt}, ${given.isActive}, ${given.providerKeyId},
                  ${given.createdAt}, ${given.updatedAt})
                returning *)
              ${read("changed")}`)
        ),
      find: (id) => run(agent(sql`${read("agents")} where a.id = ${id}`)),
      list: ({ projectId, workspaceId }) =>
        run(
          agents(sql`
            ${read("agents")}
            where a.workspace_id = ${workspaceId}
            ${projectId === undefined ? sql.literal("") : sql`and a.project_id = ${projectId}`}
            order by a.created_at, a.id`)
        ),
      remove: (id) => run(returnedRow(sql`delete from agents where id = ${id} returning id`)),
      update: (id, patch, at) =>
        run(
          agent(sql`
            with changed as (
              update agents set ${sql.update({ ...toColumns(patch), updated_at: at })}
              where id = ${id} returning *)
            ${read("changed")}`)
        )
    })
  })
)

const toColumns = (patch: UpdateAgent) => ({
  ...("name" in patch && { name: patch.name }),
  ...("description" in patch && { description: patch.description }),
  ...("systemPrompt" in patch && { system_prompt: patch.systemPrompt }),
  ...("providerKeyId" in patch && { provider_key_id: patch.providerKeyId }),
  ...("isActive" in patch && { is_active: patch.isActive })
})
