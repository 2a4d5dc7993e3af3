import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { toConnector } from "../../../Schemas/Connector.ts"
import { ConnectorRepo } from "../../../Services/ConnectorRepo.ts"
import { inOrder } from "./Order.ts"
import { unlessFullIn } from "./Quotas.ts"
import * as Slices from "./Slices.ts"
import { Store } from "./Store.ts"

export const layer = Layer.effect(
  ConnectorRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { connectorHealth, connectors, failingConnectors } = tables
    const ofWorkspace = (workspaceId: string) =>
      Array.from(connectors.values()).filter((connector) => connector.workspaceId === workspaceId)
    return guard(
      ConnectorRepo.of({
        insert: (connector, most) =>
          unlessFullIn(
            tables,
            "connectors",
            connector.workspaceId,
            most,
            () => void connectors.set(connector.id, connector)
          ),
        find: (id) => Effect.sync(() => Option.fromNullishOr(connectors.get(id))),
        ...Slices.makePages(connectors, toConnector),
        all: (workspaceId) => Effect.sync(() => ofWorkspace(workspaceId).sort(inOrder("createdAt"))),
        countActive: (workspaceId) =>
          Effect.sync(() => ofWorkspace(workspaceId).filter(({ status }) => status === "ACTIVE").length),
        countOf: (workspaceId, ids) =>
          Effect.sync(() => ofWorkspace(workspaceId).filter(({ id }) => ids.includes(id)).length),
        update: ({
          grantedScopes,
          hasCredential,
          id,
          metadata,
          providerName,
          sealedCredential,
          status,
          updatedAt
        }) =>
          Effect.sync(() => {
            const known = connectors.get(id)
            if (known === undefined) return false
            connectors.set(id, {
              ...known,
              grantedScopes,
              hasCredential,
              metadata,
              providerName,
              sealedCredential,
              status,
              updatedAt
            })
            return true
          }),
        remove: (id) =>
          Effect.sync(() => {
            connectorHealth.delete(id)
            failingConnectors.delete(id)
            return connectors.delete(id)
          }),
        health: (id) => Effect.sync(() => Option.fromNullishOr(connectorHealth.get(id))),
        keepHealth: (id, health) =>
          Effect.sync(() => {
            const connector = connectors.get(id)
            if (connector === undefined) return
            const { protocolVersion, serverName, serverVersion } =
              health.protocolVersion === null ? (connectorHealth.get(id) ?? health) : health
            connectorHealth.set(id, { ...health, serverName, serverVersion, protocolVersion })
            if (health.error === null) failingConnectors.delete(id)
            else if (connector.status === "ERROR") failingConnectors.set(id, true)
          }),
        forgetHealth: (id) => Effect.sync(() => void connectorHealth.delete(id))
      })
    )
  })
)
