import * as Effect from "effect/Effect"
import type { StoredConnector } from "../../../Schemas/Connector.ts"
import { ConnectorHealth } from "../../../Services/ConnectorHealth.ts"

/** Makes a connector that can't be used ERROR, and tells the operator why: as a warning the first time. */
export const make = Effect.map(ConnectorHealth, (health) =>
  Effect.fnUntraced(function* ({ id, status }: StoredConnector, error: string) {
    const log = status === "ERROR" ? Effect.logDebug : Effect.logWarning
    yield* Effect.annotateLogs(log("a connector can't be used"), { connectorId: id, error })
    if (status !== "ERROR") yield* health.report(id, false)
  })
)
