import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoredConnector } from "../Schemas/Connector.ts"
import type { Shown } from "../Schemas/ConnectorHealth.ts"

/** Keeps what use has shown of connectors: whether they can be reached and signed in to, and who answers. */
export class ConnectorHealth extends Context.Service<
  ConnectorHealth,
  {
    /**
     * An ACTIVE connector that failed becomes ERROR; one in ERROR that works becomes ACTIVE again if the
     * plan has room for it. One that is switched off stays so. What was shown of a connector that has other
     * metadata by now is left out. Answers whether the connector is ACTIVE now. Never fails: without a
     * database nothing changes, which is logged, and the answer is no.
     *
     * `connector` is as it was read for the use. What was shown is kept with its time, the same again once
     * in 30 s at most by each node, unless somebody asked for it (`isAsked`).
     */
    readonly report: (
      connector: StoredConnector,
      shown: Shown,
      options?: { readonly isAsked: boolean }
    ) => Effect.Effect<boolean>
  }
>()("agentd/Services/ConnectorHealth") {}
