import * as Effect from "effect/Effect"
import { inScope } from "../../Schemas/ConnectorServer.ts"
import { type AbsentConnector, absent, deleted, switchedOff } from "../../Schemas/ToolAbsence.ts"
import type { ToolPlace } from "../../Schemas/ToolBinding.ts"
import { prefixOf, toolNames } from "../../Schemas/ToolName.ts"
import { ConnectorRepo } from "../../Services/ConnectorRepo.ts"
import type { Tool, ToolScope } from "../../Services/ToolSource.ts"
import * as Bound from "./Connectors/Bound.ts"
import * as Calls from "./Connectors/Calls.ts"
import * as Look from "./Connectors/Look.ts"
import * as Reach from "./Connectors/Reach.ts"
import * as Mcp from "./Mcp.ts"

const mostAbsent = 100

/**
 * The tools of connectors (CONTRACT.md section 7). A connector that fails is left out, becomes ERROR and is
 * not tried again for 30 s, unless it is changed, named or a call waits for it; one that works again becomes ACTIVE,
 * and brings its tools only then, since the plan counts it.
 */
export const make = Effect.gen(function* () {
  const mcp = yield* Mcp.make
  const repo = yield* ConnectorRepo
  const bound = yield* Bound.make(mcp)
  const makeTool = yield* Calls.make(mcp, bound)
  const reach = yield* Reach.make(mcp)
  const look = yield* Look.make(mcp, reach)

  /** What a scope names and can't have. */
  const unusable = ({ connectorIds }: ToolScope, all: Parameters<typeof reach>[0]) =>
    (connectorIds ?? []).flatMap((id): ReadonlyArray<AbsentConnector> => {
      const connector = all.find((candidate) => candidate.id === id)
      if (connector === undefined) return [{ id: id as AbsentConnector["id"], name: id, ...deleted }]
      return connector.status === "INACTIVE" ? [absent(connector, switchedOff)] : []
    })

  return {
    check: look.check,
    ofConnector: look.tools,
    tools: Effect.fnUntraced(function* (scope: ToolScope) {
      const all = yield* repo.all(scope.workspaceId)
      const listed = yield* reach(
        all.filter((connector) => inScope(connector, scope)),
        scope.connectorIds !== null
      )
      const names = toolNames(
        listed.flatMap(({ connector, names }) =>
          names.map((tool) => ({ connectorId: connector.id, prefix: prefixOf(connector), tool }))
        )
      )
      const tools: Array<Tool> = []
      let first = 0
      for (const { connector, names: own, server, tools: described } of listed) {
        for (const [index, tool] of described.entries()) {
          const name = names[first + index]
          if (server === undefined || name === undefined) continue
          tools.push(makeTool({ connector, server, tool, name }))
        }
        first += own.length
      }
      const away = listed.flatMap(({ absence, connector }) => (absence ? [absent(connector, absence)] : []))
      return { tools, absent: [...unusable(scope, all), ...away].slice(0, mostAbsent) }
    }),
    find: Effect.fnUntraced(function* ({ workspaceId }: ToolScope, binding: ToolPlace) {
      const found = yield* bound.find(workspaceId, binding)
      return makeTool({ ...found, name: binding.tool })
    })
  }
})
