import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { PlanLimitExceeded } from "../Schemas/Connector.ts"
import type { WorkspaceId } from "../Schemas/Ids.ts"
import { activeConnectorLimit } from "../Schemas/Workspace.ts"
import { ConnectorRepo } from "./ConnectorRepo.ts"
import { WorkspaceRepo } from "./WorkspaceRepo.ts"

/**
 * Fails when the plan of a workspace has no room for one more ACTIVE connector. To be called within a
 * transaction: it locks the workspace, which makes the answer exact until the transaction ends.
 */
export const makeRequireRoom = Effect.gen(function* () {
  const connectors = yield* ConnectorRepo
  const workspaces = yield* WorkspaceRepo
  return Effect.fnUntraced(function* (workspaceId: WorkspaceId) {
    const workspace = yield* workspaces.lock(workspaceId)
    const limit = Option.isSome(workspace) ? activeConnectorLimit(workspace.value.plan) : null
    if (limit !== null && (yield* connectors.countActive(workspaceId)) >= limit) {
      return yield* new PlanLimitExceeded({
        error: `the free plan allows at most ${limit} active connectors`
      })
    }
  })
})
