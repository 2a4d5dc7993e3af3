import * as Effect from "effect/Effect"
import type { StoredConnector } from "../../../Schemas/Connector.ts"
import type { ConnectorProblem } from "../../../Schemas/ConnectorHealth.ts"
import { ConnectorHealth } from "../../../Services/ConnectorHealth.ts"
import { quoting } from "../../../Services/Telemetry.ts"

/** Makes a connector that can't be used ERROR, and tells the operator why: as a warning the first time. */
export const make = Effect.map(ConnectorHealth, (health) =>
  Effect.fnUntraced(function* (
    connector: StoredConnector,
    error: ConnectorProblem,
    options?: { readonly isAsked: boolean }
  ) {
    const log = connector.status === "ACTIVE" ? Effect.logWarning : Effect.logDebug
    const facts = { connectorId: connector.id, code: error.code, error: error.message }
    yield* Effect.annotateLogs(quoting(log("a connector can't be used")), facts)
    yield* health.report(connector, { error }, options)
  })
)
