import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Agent } from "../../../Schemas/Agent.ts"
import { ProviderKeySummary } from "../../../Schemas/ProviderKey.ts"
import { AgentRepo } from "../../../Services/AgentRepo.ts"
import { makeColumns, referenceOf } from "./Columns.ts"
import { Database } from "./Database.ts"
import { firstRow, onlyRow, returnedRow, rows } from "./Rows.ts"

const agent = firstRow(Agent)
const inserted = onlyRow(Agent)
const agents = rows(Agent)
const columns = makeColumns(Agent, { providerKey: { read: referenceOf(ProviderKeySummary, "k") } })

export const layer = Layer.effect(
  AgentRepo,
  Effect.gen(function* () {
    const { query, sql } = yield* Database

    const read = (from: "agents" | "changed") => sql`
      select ${columns.read("a")}
      from ${sql.literal(from)} a left join provider_keys k on k.id = a.provider_key_id`

    return AgentRepo.of({
      insert: (given) =>
        query(
          inserted(sql`
              with changed as (
                insert into agents ${sql.insert(columns.row(given))}
                returning *)
              ${read("changed")}`)
        ),
      find: (id) => query(agent(sql`${read("agents")} where a.id = ${id}`)),
      list: ({ projectId, workspaceId }) =>
        query(
          agents(sql`
            ${read("agents")}
            where a.workspace_id = ${workspaceId}
            ${projectId === undefined ? sql.literal("") : sql`and a.project_id = ${projectId}`}
            order by a.created_at, a.id`)
        ),
      remove: (id) => query(returnedRow(sql`delete from agents where id = ${id} returning id`)),
      update: (id, patch, at) =>
        query(
          agent(sql`
            with changed as (
              update agents set ${sql.update(columns.changes({ ...patch, updatedAt: at }))}
              where id = ${id} returning *)
            ${read("changed")}`)
        )
    })
  })
)
