import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { StoredConnector } from "../../../Schemas/Connector.ts"
import type { WorkspaceId } from "../../../Schemas/Ids.ts"
import { away, deleted, noRoom, switchedOff, toolUnavailable } from "../../../Schemas/ToolAbsence.ts"
import type { ToolPlace } from "../../../Schemas/ToolBinding.ts"
import { ConnectorHealth } from "../../../Services/ConnectorHealth.ts"
import { ConnectorRepo } from "../../../Services/ConnectorRepo.ts"
import { problemOf } from "../Mcp/Failure.ts"
import type { McpServer } from "../Mcp/Server.ts"
import type { McpClients } from "../Mcp.ts"
import { placeOf } from "./Definition.ts"
import * as Failed from "./Failed.ts"
import * as Target from "./Target.ts"

interface Standing {
  readonly connector: StoredConnector
  readonly server: McpServer
}

/**
 * Where what a call is bound to is now (CONTRACT.md section 5): the same connector at the same address, switched on
 * and reachable, with the same tool; anything else is `ToolUnavailable`. It looks each time: a connector that has
 * failed is asked again, and is ACTIVE when it answers.
 */
export const make = Effect.fnUntraced(function* (mcp: McpClients) {
  const failed = yield* Failed.make
  const health = yield* ConnectorHealth
  const repo = yield* ConnectorRepo
  const target = yield* Target.make

  const whereabouts = Effect.fnUntraced(function* (workspaceId: WorkspaceId, binding: ToolPlace) {
    const connector = Option.getOrUndefined(yield* repo.find(binding.connectorId))
    if (connector?.workspaceId !== workspaceId) return yield* toolUnavailable(binding, deleted)
    if (connector.status === "INACTIVE") return yield* toolUnavailable(binding, switchedOff)
    const found = yield* target(connector)
    if (found.kind === "unusable") return yield* toolUnavailable(binding, away(found.error.message))
    if (found.kind === "none" || placeOf(found.server.url) !== binding.place) {
      return yield* toolUnavailable(binding, away("the connector leads to another address now"))
    }
    return { connector, server: { connectorId: connector.id, ...found.server } } satisfies Standing
  })

  const list = Effect.fnUntraced(function* ({ connector, server }: Standing, binding: ToolPlace) {
    const { tools } = yield* mcp
      .list(server, true)
      .pipe(
        Effect.catchTag("McpFailure", (failure) =>
          Effect.andThen(failed(connector, problemOf(failure)), toolUnavailable(binding, away(failure.error)))
        )
      )
    // Those of one in ERROR are not the workspace's: the plan counts connectors that are ACTIVE.
    const isActive = yield* health.report(connector, { error: null, server: mcp.about(server) })
    if (connector.status === "ERROR" && !isActive) {
      return yield* toolUnavailable(binding, noRoom)
    }
    return tools
  })

  return {
    /** Where a call of a tool that was found before is made now. */
    standing: Effect.fnUntraced(function* (workspaceId: WorkspaceId, binding: ToolPlace) {
      const found = yield* whereabouts(workspaceId, binding)
      if (found.connector.status === "ERROR") yield* list(found, binding)
      return found
    }),
    find: Effect.fnUntraced(function* (workspaceId: WorkspaceId, binding: ToolPlace) {
      const found = yield* whereabouts(workspaceId, binding)
      const tool = (yield* list(found, binding)).find(({ name }) => name === binding.tool)
      return tool === undefined
        ? yield* toolUnavailable(binding, away("its server does not list it any more"))
        : { ...found, tool }
    })
  }
})

export type Bound = Effect.Success<ReturnType<typeof make>>
