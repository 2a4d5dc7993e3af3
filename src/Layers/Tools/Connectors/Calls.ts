import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { StoredConnector } from "../../../Schemas/Connector.ts"
import { away, toolUnavailable } from "../../../Schemas/ToolAbsence.ts"
import { SchemaCheck } from "../../../Services/SchemaCheck.ts"
import { type Tool, ToolError } from "../../../Services/ToolSource.ts"
import * as Arguments from "../Arguments.ts"
import { isUnhealthy, problemOf } from "../Mcp/Failure.ts"
import type { McpServer } from "../Mcp/Server.ts"
import type { McpClients, McpTool } from "../Mcp.ts"
import type { Bound } from "./Bound.ts"
import { bindingOf, definitionOf } from "./Definition.ts"
import * as Failed from "./Failed.ts"

/**
 * Makes tools of what servers list. Their calls have arguments that fit, and go where the connector leads when they
 * are made, if that is where the tool is. A connector that could not be reached or signed in to becomes ERROR.
 */
export const make = Effect.fnUntraced(function* (mcp: McpClients, { standing }: Bound) {
  const failed = yield* Failed.make
  const checkArguments = Arguments.make(yield* SchemaCheck)

  /** `name` is what the model calls it. */
  return (listed: {
    readonly connector: StoredConnector
    readonly server: McpServer
    readonly tool: McpTool
    readonly name: string
  }): Tool => {
    const { name, tool } = listed
    const binding = bindingOf(listed.connector, listed.server.url, tool)
    const call = Effect.fnUntraced(function* (argument: Schema.Json) {
      const checked = yield* checkArguments(
        binding.connectorId,
        tool.inputSchema as Schema.JsonObject,
        argument
      )
      const { connector, server } = yield* standing(listed.connector.workspaceId, binding)
      return yield* mcp.call(server, tool, checked).pipe(
        Effect.catchTag(
          "McpFailure",
          Effect.fnUntraced(function* (failure) {
            if (isUnhealthy(failure)) yield* failed(connector, problemOf(failure))
            // What changes nothing may be done again also where it may have been done.
            const mayRepeat = failure.isUnsent || (failure.reason === "unreachable" && binding.readOnly)
            if (mayRepeat) return yield* toolUnavailable(binding, away(failure.error))
            return yield* new ToolError({ error: failure.error })
          })
        )
      )
    })
    return { definition: definitionOf(tool, name), binding, call }
  }
})
