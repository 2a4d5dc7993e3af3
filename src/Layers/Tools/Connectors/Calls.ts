import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type { StoredConnector } from "../../../Schemas/Connector.ts"
import { ConnectorHealth } from "../../../Services/ConnectorHealth.ts"
import { ToolError } from "../../../Services/ToolSource.ts"
import { isUnhealthy, type McpFailure } from "../Mcp/Failure.ts"
import type { McpServer } from "../Mcp/Server.ts"
import type { McpClients, McpTool } from "../Mcp.ts"

/** Calls tools, with arguments that fit. A connector that could not be reached or signed in to becomes ERROR. */
export const make = Effect.fnUntraced(function* (mcp: McpClients) {
  const health = yield* ConnectorHealth
  // Threads and what they need are loaded with the first call.
  const argumentCheck = yield* Effect.promise(() => import("../Arguments.ts")).pipe(
    Effect.flatMap(({ make }) => make),
    Scope.provide(yield* Effect.scope),
    Effect.cached
  )

  const failedCall = Effect.fnUntraced(function* (connector: StoredConnector, { error }: McpFailure) {
    yield* Effect.logWarning("a connector can't be used", { connectorId: connector.id, error })
    yield* health.report(connector.id, false)
  })

  return (connector: StoredConnector, server: McpServer, tool: McpTool) =>
    Effect.fn("ConnectorTools.call")(function* (argument: Schema.Json) {
      const checked = yield* (yield* argumentCheck)(
        connector.id,
        tool.inputSchema as Schema.JsonObject,
        argument
      )
      return yield* mcp
        .call(server, tool, checked)
        .pipe(
          Effect.catchTag("McpFailure", (failure) =>
            Effect.andThen(
              isUnhealthy(failure) ? failedCall(connector, failure) : Effect.void,
              Effect.fail(new ToolError({ error: failure.error }))
            )
          )
        )
    })
})
