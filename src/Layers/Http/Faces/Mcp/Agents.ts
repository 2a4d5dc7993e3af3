import * as Chunk from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Agent } from "../../../../Schemas/Agent.ts"
import { AgentId, type WorkspaceId } from "../../../../Schemas/Ids.ts"
import type { Caller } from "../../../../Schemas/Token.ts"
import { Agents } from "../../../../Services/Agents.ts"
import { agentOfTool, toolNamesOf } from "./AgentTools.ts"
import { agentDefinition, type Definition, definitions } from "./Definitions.ts"
import { invalidParams } from "./Messages.ts"
import { opaque } from "./Opaque.ts"

/** How many agents of a workspace, the oldest first, are tools by their names; others by their ids alone. */
const mostAgents = 1_000
/** How many tools a page has. */
const pageSize = 100

const isAgentId = Schema.is(AgentId)
const cursors = opaque(Schema.fromJsonString(Schema.Struct({ after: AgentId })))

const taken = definitions.map(({ name }) => name)

/** A page of tools; `nextCursor` where there are more. */
export interface ToolPage {
  readonly tools: ReadonlyArray<Definition>
  readonly nextCursor?: string
}

/** The agents of a workspace as tools (CONTRACT.md section 14). */
export const make = Effect.gen(function* () {
  const agents = yield* Agents

  const all = Effect.fnUntraced(function* (caller: Caller, workspaceId: WorkspaceId) {
    const { first, rest } = yield* agents.list(caller, { workspaceId, limit: mostAgents })
    return rest === null ? first : [...first, ...Chunk.flatten(yield* Stream.runCollect(rest))]
  })

  return {
    /** The tools that every caller has, and then the agents that are active, in the order in which they were made. */
    list: Effect.fnUntraced(function* (
      caller: Caller,
      workspaceId: WorkspaceId | undefined,
      cursor: unknown
    ) {
      const after = cursor === undefined ? undefined : Option.getOrUndefined(cursors.read(cursor))?.after
      if (cursor !== undefined && after === undefined)
        return yield* invalidParams("cursor: there is no such page")
      const found = workspaceId === undefined ? [] : yield* all(caller, workspaceId)
      const names = toolNamesOf(found, taken)
      const own = after === undefined ? definitions : []
      const active = found.filter(({ id, isActive }) => isActive && (after === undefined || id > after))
      const shown = active.slice(0, pageSize - own.length)
      const last = shown.at(-1)
      const page: ToolPage = {
        tools: [
          ...own,
          ...shown.map((agent) => agentDefinition({ ...agent, tool: names.get(agent.id) ?? agent.id }))
        ],
        ...(last !== undefined &&
          shown.length < active.length && { nextCursor: cursors.write({ after: last.id }) })
      }
      return page
    }),
    /** The agent of a tool; undefined where there is none in this workspace. */
    find: Effect.fnUntraced(function* (caller: Caller, workspaceId: WorkspaceId, tool: string) {
      const found: Agent | undefined = agentOfTool(yield* all(caller, workspaceId), taken, tool)
      if (found !== undefined || !tool.startsWith("agent_") || !isAgentId(tool)) return found
      const byId = yield* agents.get(caller, tool).pipe(Effect.catchTag("NotFound", () => Effect.undefined))
      return byId?.workspaceId === workspaceId ? byId : undefined
    })
  }
})
