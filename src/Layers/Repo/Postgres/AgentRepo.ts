import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Agent, StoredAgent } from "../../../Schemas/Agent.ts"
import { ProviderKeySummary } from "../../../Schemas/ProviderKey.ts"
import { AgentRepo } from "../../../Services/AgentRepo.ts"
import { makeColumns, referenceOf } from "./Columns.ts"
import { Database } from "./Database.ts"
import { goneOf, orGone, orOnlyGone } from "./Named.ts"
import { setPolicy } from "./Policies.ts"
import { insertNaming } from "./Quotas.ts"
import { isThere } from "./Removed.ts"
import { firstRow, returnedRow, rows } from "./Rows.ts"
import * as Slices from "./Slices.ts"

const agent = firstRow(Agent)
const storedAgent = firstRow(StoredAgent)
const storedAgents = rows(StoredAgent)
const providerKey = { read: referenceOf(ProviderKeySummary, "k") }
const columns = makeColumns(Agent, { providerKey })
const withKey = makeColumns(Agent, { providerKey, providerKeyId: { read: "k.id" } })
const shown = withKey.read("a")
const found = makeColumns(StoredAgent, { policy: "json", providerKey, providerKeyId: { read: "k.id" } }).read(
  "a"
)

export const layer = Layer.effect(
  AgentRepo,
  Effect.gen(function* () {
    const database = yield* Database
    const { change, lookUp, sql } = database

    const joins = sql.literal(
      "left join provider_keys k on k.id = a.provider_key_id and k.deleted_at is null"
    )
    const changed = sql`
      select ${shown} from changed a ${joins}`

    const pages = Slices.makePages(
      database,
      {
        table: "agents",
        alias: "a",
        shown,
        joins,
        row: Agent,
        least: columns.leastBytes("name", "description", "systemPrompt"),
        json: withKey.jsonBytes("a")
      },
      () => ["deleted_at is null"]
    )

    return AgentRepo.of({
      ...pages,
      insert: (given, most) =>
        change((audit) =>
          agent(
            insertNaming(sql, {
              table: "agents",
              quota: "agents",
              row: columns.row(given),
              workspaceId: given.workspaceId,
              most,
              names: given,
              read: changed,
              audit
            })
          ).pipe(orOnlyGone(sql, given))
        ),
      find: (id) =>
        lookUp(
          storedAgent(sql`select ${found} from agents a ${joins} where a.id = ${id} and a.deleted_at is null`)
        ),
      named: (workspaceId, name) =>
        lookUp(
          storedAgents(sql`
            select ${found} from agents a ${joins}
            where a.workspace_id = ${workspaceId} and a.name = ${name} and a.deleted_at is null
            order by a.is_active desc, a.created_at, a.id limit 2`)
        ),
      setPolicy: (id, policy, at) =>
        change((audit) => returnedRow(audit.with(setPolicy(sql, "agents", id, policy, at)))),
      remove: (id) =>
        change((audit) =>
          returnedRow(
            audit.with(sql`
            update agents set deleted_at = clock_timestamp()
            where id = ${id} and deleted_at is null returning id`)
          )
        ),
      update: (id, patch, at) =>
        change((audit) =>
          agent(sql`
            with ${goneOf(sql, patch)}, changed as (
              update agents set ${sql.update(columns.changes({ ...patch, updatedAt: at }))}
              where id = ${id} and deleted_at is null and not exists (select from gone) returning *)${audit.of("changed")}
            ${changed}`).pipe(orGone(sql, patch, isThere(sql, "agents", id)))
        )
    })
  })
)
