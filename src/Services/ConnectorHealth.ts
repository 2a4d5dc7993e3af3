import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { ConnectorId } from "../Schemas/Ids.ts"

/** Keeps what use has shown of connectors: whether they can be reached and signed in to. */
export class ConnectorHealth extends Context.Service<
  ConnectorHealth,
  {
    /**
     * An ACTIVE connector that failed becomes ERROR; one in ERROR that works becomes ACTIVE again if the
     * plan has room for it. One that is switched off stays so. Writes only where something changes.
     * Answers whether the connector is ACTIVE now. Never fails: without a database nothing changes, which
     * is logged, and the answer is no.
     */
    readonly report: (id: ConnectorId, healthy: boolean) => Effect.Effect<boolean>
  }
>()("agentd/Services/ConnectorHealth") {}
