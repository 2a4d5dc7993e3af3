import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import {
  type Connector,
  type ConnectorMetadata,
  type CreateConnector,
  newConnector,
  type PlanLimitExceeded,
  type StoredConnector,
  toConnector,
  type UpdateConnector
} from "../Schemas/Connector.ts"
import { type ConnectorHealth, type ConnectorTools, toHealth } from "../Schemas/ConnectorHealth.ts"
import { hasSealed } from "../Schemas/ConnectorSecrets.ts"
import { serverProblem } from "../Schemas/ConnectorServer.ts"
import {
  type Forbidden,
  InvalidInput,
  type NotFound,
  notFound,
  type RateLimited,
  type Unavailable
} from "../Schemas/Errors.ts"
import type { ConnectorId } from "../Schemas/Ids.ts"
import type { User } from "../Schemas/User.ts"
import { Access } from "./Access.ts"
import { audited } from "./Audited.ts"
import { AuditNotes } from "./AuditNotes.ts"
import { makeRequireRoom } from "./ConnectorLimit.ts"
import { ConnectorRepo } from "./ConnectorRepo.ts"
import { now } from "./CurrentTime.ts"
import { Ids } from "./Ids.ts"
import * as Listing from "./Listing.ts"
import type { WorkspaceFilter } from "./Pages.ts"
import { References } from "./References.ts"
import * as SealedMetadata from "./SealedMetadata.ts"
import { Settings } from "./Settings.ts"
import { ToolSource } from "./ToolSource.ts"
import { Transaction } from "./Transaction.ts"
import { WorkspaceRepo } from "./WorkspaceRepo.ts"

/** What a caller does with connectors (specification, Connectors). */
export class Connectors extends Context.Service<
  Connectors,
  {
    /** Never more ACTIVE ones than the plan allows, however many are created at once on any node. */
    readonly create: (
      user: User,
      input: CreateConnector
    ) => Effect.Effect<Connector, Forbidden | InvalidInput | PlanLimitExceeded | Unavailable>
    readonly list: (
      user: User,
      filter: WorkspaceFilter & Listing.PageQuery
    ) => Effect.Effect<Listing.Listing<Connector>, Forbidden | InvalidInput | Unavailable>
    readonly get: (user: User, id: ConnectorId) => Effect.Effect<Connector, NotFound | Unavailable>
    /** Switching one on counts to the plan's limit as creating one does. */
    readonly update: (
      user: User,
      id: ConnectorId,
      patch: UpdateConnector
    ) => Effect.Effect<Connector, NotFound | InvalidInput | PlanLimitExceeded | Unavailable>
    readonly remove: (user: User, id: ConnectorId) => Effect.Effect<void, NotFound | Unavailable>
    /** What its last use has shown, in a run, a chat, or here; nothing is asked. */
    readonly health: (user: User, id: ConnectorId) => Effect.Effect<ConnectorHealth, NotFound | Unavailable>
    /**
     * Asks its server now, over the connection that there is or a new one, and keeps what that shows. It switches
     * nothing on: one that is INACTIVE stays so. At once for all who ask meanwhile.
     */
    readonly check: (
      user: User,
      id: ConnectorId
    ) => Effect.Effect<ConnectorHealth, NotFound | RateLimited | Unavailable>
    /** What its server lists, a minute old at most, and the health after that. */
    readonly tools: (
      user: User,
      id: ConnectorId
    ) => Effect.Effect<ConnectorTools, NotFound | RateLimited | Unavailable>
  }
>()("agentd/Services/Connectors") {
  static readonly layer = Layer.effect(
    Connectors,
    Effect.gen(function* () {
      const access = yield* Access
      const ids = yield* Ids
      const references = yield* References
      const repo = yield* ConnectorRepo
      const { quotas } = yield* Settings
      const requireRoom = yield* makeRequireRoom
      const split = yield* makeSplit
      const transaction = yield* Transaction
      const workspaces = yield* WorkspaceRepo

      const visible = Effect.fnUntraced(function* (user: User, id: ConnectorId) {
        return yield* access.visible(user, "connector", yield* repo.find(id))
      })

      return Connectors.of({
        ...(yield* makeLooking(visible)),
        create: Effect.fnUntraced(function* (user, input) {
          yield* access.member(user, input.workspaceId)
          yield* references.resolve(input.workspaceId, { projectId: input.projectId })
          yield* requireUsable(
            { type: input.type ?? null, providerId: input.providerId ?? null },
            input.metadata ?? {}
          )
          const at = yield* now
          const id = yield* ids.make<ConnectorId>("connector")
          const stored = yield* split(id, input.metadata ?? {})
          const connector = newConnector(input, { id, at, ...stored })
          yield* transaction.atomically(
            Effect.andThen(
              requireRoom(input.workspaceId),
              repo.insert(connector, quotas.connectors).pipe(audited("connector.create", connector))
            )
          )
          return toConnector(connector)
        }),
        list: Effect.fnUntraced(function* (user, filter) {
          yield* access.member(user, filter.workspaceId)
          yield* references.resolve(filter.workspaceId, { projectId: filter.projectId })
          return yield* Listing.ofPages(repo, filter, filter)
        }),
        get: Effect.fnUntraced(function* (user, id) {
          return toConnector(yield* visible(user, id))
        }),
        update: Effect.fn("Connectors.update")((user, id, patch) =>
          transaction.atomically(
            Effect.gen(function* () {
              const seen = yield* visible(user, id)
              // The lock of the workspace orders changes of its connectors: what counts is read behind it.
              yield* workspaces.lock(seen.workspaceId)
              const connector = yield* visible(user, id)
              if (patch.status === "ACTIVE" && connector.status !== "ACTIVE") {
                yield* requireRoom(connector.workspaceId)
              }
              const { metadata, ...fields } = patch
              // What a version before has stored may stay as it is.
              if (metadata !== undefined) yield* requireUsable(connector, metadata)
              const secret = metadata === undefined ? undefined : yield* split(id, metadata)
              const updated = {
                ...connector,
                ...fields,
                ...secret,
                updatedAt: yield* now
              }
              const stored = { ...updated, hasCredential: hasSealed(updated) }
              if (!(yield* repo.update(stored).pipe(audited("connector.update", stored))))
                return yield* notFound("connector")
              // What was shown is of another server.
              if (secret !== undefined) yield* repo.forgetHealth(id)
              return toConnector(stored)
            })
          )
        ),
        remove: Effect.fnUntraced(function* (user, id) {
          const connector = yield* visible(user, id)
          if (!(yield* repo.remove(id).pipe(audited("connector.delete", connector))))
            return yield* notFound("connector")
        })
      })
    })
  )
}

/** How a connector that the caller can see is, and what it brings. */
const makeLooking = Effect.fnUntraced(function* (
  visible: (user: User, id: ConnectorId) => Effect.Effect<StoredConnector, NotFound | Unavailable>
) {
  const notes = yield* AuditNotes
  const repo = yield* ConnectorRepo
  const toolSource = yield* ToolSource

  const health = Effect.fnUntraced(function* (user: User, id: ConnectorId) {
    const connector = yield* visible(user, id)
    return toHealth(connector, Option.getOrUndefined(yield* repo.health(id)))
  })

  return {
    health,
    check: Effect.fnUntraced(function* (user: User, id: ConnectorId) {
      const connector = yield* visible(user, id)
      if (hasSealed(connector)) yield* notes.looked(connector)
      yield* toolSource.check(connector)
      return yield* health(user, id)
    }),
    tools: Effect.fnUntraced(function* (user: User, id: ConnectorId) {
      const connector = yield* visible(user, id)
      if (hasSealed(connector)) yield* notes.looked(connector)
      const tools = yield* toolSource.ofConnector(connector)
      return { ...(yield* health(user, id)), tools }
    })
  }
})

/** What is stored of metadata: all that is secret in it sealed. */
const makeSplit = Effect.map(
  SealedMetadata.make,
  (seals) => (id: ConnectorId, metadata: ConnectorMetadata) =>
    Effect.mapError(seals.given(id, metadata), ({ error }) => new InvalidInput({ error }))
)

/** What a connector could never be used with is refused while somebody is there to read it. */
const requireUsable = (...given: Parameters<typeof serverProblem>) => {
  const problem = serverProblem(...given)
  return problem === undefined ? Effect.void : Effect.fail(new InvalidInput({ error: problem }))
}
