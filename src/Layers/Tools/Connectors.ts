import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { inScope } from "../../Schemas/ConnectorServer.ts"
import { cut } from "../../Schemas/Text.ts"
import { prefixOf, toolNames } from "../../Schemas/ToolName.ts"
import { ConnectorRepo } from "../../Services/ConnectorRepo.ts"
import type { Tool, ToolScope } from "../../Services/ToolSource.ts"
import * as Calls from "./Connectors/Calls.ts"
import * as Reach from "./Connectors/Reach.ts"
import * as Mcp from "./Mcp.ts"

const longestDescription = 1_024

/**
 * The tools of connectors (CONTRACT.md section 7). A connector that fails is left out, becomes ERROR and is
 * not tried again for 30 s, unless it is changed; one that works again becomes ACTIVE, and brings its tools
 * only then, since the plan counts it.
 */
export const make = Effect.gen(function* () {
  const mcp = yield* Mcp.make
  const repo = yield* ConnectorRepo
  const call = yield* Calls.make(mcp)
  const reach = yield* Reach.make(mcp)

  return {
    tools: Effect.fn("ConnectorTools.tools")(function* (scope: ToolScope) {
      const all = yield* repo.list({ workspaceId: scope.workspaceId })
      const listed = yield* reach(all.filter((connector) => inScope(connector, scope)))
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
          tools.push({ definition: definitionOf(tool, name), call: call(connector, server, tool) })
        }
        first += own.length
      }
      return tools
    })
  }
})

const definitionOf = (tool: Mcp.McpTool, name: string): Tool["definition"] => ({
  name,
  description: cut((tool.description ?? tool.title ?? "").toWellFormed(), longestDescription),
  // Some models refuse the schema of an object that names no properties.
  parameters: {
    ...(tool.inputSchema as Schema.JsonObject),
    properties: tool.inputSchema.properties ?? {}
  } as Schema.JsonObject,
  readOnly: tool.annotations?.readOnlyHint === true
})
