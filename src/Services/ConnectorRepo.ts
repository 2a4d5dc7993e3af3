import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Connector, PlanLimitExceeded, StoredConnector } from "../Schemas/Connector.ts"
import type { StoredHealth } from "../Schemas/ConnectorHealth.ts"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { ConnectorId, WorkspaceId } from "../Schemas/Ids.ts"
import type { ByPlan } from "../Schemas/Quotas.ts"
import type { Pages } from "./Pages.ts"

/** Connectors with their sealed credentials. */
export class ConnectorRepo extends Context.Service<
  ConnectorRepo,
  Pages<Connector> & {
    /** `most` as in `AgentRepo`. */
    readonly insert: (
      connector: StoredConnector,
      most?: ByPlan
    ) => Effect.Effect<void, PlanLimitExceeded | Unavailable>
    readonly find: (id: ConnectorId) => Effect.Effect<Option.Option<StoredConnector>, Unavailable>
    /** All of the workspace with what they are used by, oldest first: as many as its plan lets be stored. */
    readonly all: (workspaceId: WorkspaceId) => Effect.Effect<ReadonlyArray<StoredConnector>, Unavailable>
    /** How many are ACTIVE: exact within a transaction that has locked the workspace. */
    readonly countActive: (workspaceId: WorkspaceId) => Effect.Effect<number, Unavailable>
    /** How many of these ids are connectors of the workspace. */
    readonly countOf: (
      workspaceId: WorkspaceId,
      ids: ReadonlyArray<string>
    ) => Effect.Effect<number, Unavailable>
    /** Replaces what can change. False when there is no such connector. */
    readonly update: (connector: StoredConnector) => Effect.Effect<boolean, Unavailable>
    /** False when it was gone. What was kept of its health goes with it. */
    readonly remove: (id: ConnectorId) => Effect.Effect<boolean, Unavailable>
    /** What was last kept, if anything was. */
    readonly health: (id: ConnectorId) => Effect.Effect<Option.Option<StoredHealth>, Unavailable>
    /**
     * Replaces what was kept; of a server that is not known now (no `protocolVersion`) stays what was known of it.
     * Nothing is kept of a connector that is gone.
     */
    readonly keepHealth: (id: ConnectorId, health: StoredHealth) => Effect.Effect<void, Unavailable>
    readonly forgetHealth: (id: ConnectorId) => Effect.Effect<void, Unavailable>
  }
>()("agentd/Services/ConnectorRepo") {}
