import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type StoredConnector, toConnector } from "../../src/Schemas/Connector.ts"
import { unknownServer } from "../../src/Schemas/ConnectorHealth.ts"
import { sealedField } from "../../src/Schemas/ConnectorSecrets.ts"
import type { ConnectorId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { ConnectorRepo } from "../../src/Services/ConnectorRepo.ts"
import type { It } from "../support/Backends.ts"
import { at, makeProject, makeWorkspace, newId, unicode } from "../support/Fixtures.ts"
import { listed } from "../support/Listed.ts"

export const makeConnector = Effect.fnUntraced(function* (
  workspaceId: WorkspaceId,
  given: Partial<StoredConnector> = {}
) {
  const connector: StoredConnector = {
    id: yield* newId<ConnectorId>("connector"),
    workspaceId,
    projectId: null,
    type: "mcp",
    providerId: null,
    providerName: null,
    status: "ACTIVE",
    grantedScopes: [],
    hasCredential: false,
    metadata: {},
    sealedCredential: null,
    createdAt: at(),
    updatedAt: at(),
    ...given
  }
  yield* (yield* ConnectorRepo).insert(connector)
  return connector
})

const makeFullConnector = Effect.gen(function* () {
  const workspaceId = yield* makeWorkspace
  return yield* makeConnector(workspaceId, {
    projectId: (yield* makeProject(workspaceId)).id,
    type: unicode,
    providerId: unicode,
    providerName: unicode,
    status: "ERROR",
    grantedScopes: [unicode, "", "b", "a", "b"],
    hasCredential: true,
    metadata: {
      [unicode]: unicode,
      url: "https://example.org/mcp?a=1&b=%20",
      nested: { list: [1, -2.5, 1e-7, 12_345_678_901_234_567_000, true, false, null, "", [], {}] },
      snake_case: null
    },
    sealedCredential: unicode,
    updatedAt: at(1)
  })
})

export const suite = (it: It) =>
  describe("ConnectorRepo", () => {
    it.effect("tells whether anything is sealed", () =>
      Effect.gen(function* () {
        const connectors = yield* ConnectorRepo
        const workspaceId = yield* makeWorkspace
        for (const [metadata, sealedCredential, hasCredential] of [
          [{ url: "u" }, null, false],
          [{ url: "u" }, "sealed", true],
          [{ headers: "sealed" }, null, true],
          [{ [sealedField]: "sealed" }, null, true]
        ] as const) {
          const given = { metadata, sealedCredential, hasCredential }
          const connector = yield* makeConnector(workspaceId, given)
          assert.deepStrictEqual(yield* connectors.find(connector.id), Option.some(connector))
        }
      })
    )

    it.effect("finds what was inserted, with every field and the metadata as it was", () =>
      Effect.gen(function* () {
        const connectors = yield* ConnectorRepo
        const connector = yield* makeFullConnector
        assert.deepStrictEqual(yield* connectors.find(connector.id), Option.some(connector))
        assert.deepStrictEqual(yield* listed(connectors, { workspaceId: connector.workspaceId }), [
          toConnector(connector)
        ])
        assert.deepStrictEqual(yield* connectors.all(connector.workspaceId), [connector])
      })
    )

    it.effect("keeps nulls and empty values, and finds none where there is none", () =>
      Effect.gen(function* () {
        const connectors = yield* ConnectorRepo
        const bare = yield* makeConnector(yield* makeWorkspace, { type: null, providerId: "github" })
        assert.deepStrictEqual(yield* connectors.find(bare.id), Option.some(bare))
        const id = yield* newId<ConnectorId>("connector")
        assert.deepStrictEqual(yield* connectors.find(id), Option.none())
      })
    )

    it.effect("lists oldest first, those of one moment by id, and no other workspace", () =>
      Effect.gen(function* () {
        const connectors = yield* ConnectorRepo
        const workspaceId = yield* makeWorkspace
        const ids = yield* Effect.replicateEffect(newId<ConnectorId>("connector"), 5)
        const [a, b, c, d, e] = ids as [ConnectorId, ConnectorId, ConnectorId, ConnectorId, ConnectorId]
        yield* makeConnector(workspaceId, { id: c, createdAt: at(2) })
        yield* makeConnector(workspaceId, { id: e, createdAt: at(1), status: "INACTIVE" })
        yield* makeConnector(workspaceId, { id: a, createdAt: at(3) })
        yield* makeConnector(workspaceId, { id: b, createdAt: at(2) })
        yield* makeConnector(yield* makeWorkspace, { id: d, createdAt: at(2) })
        const found = yield* listed(connectors, { workspaceId })
        assert.deepStrictEqual(
          found.map(({ id }) => id),
          [e, b, c, a]
        )
        assert.deepStrictEqual((yield* connectors.all(workspaceId)).map(toConnector), found)
      })
    )

    it.effect("lists one project alone", () =>
      Effect.gen(function* () {
        const connectors = yield* ConnectorRepo
        const workspaceId = yield* makeWorkspace
        const [one, two] = [yield* makeProject(workspaceId), yield* makeProject(workspaceId)]
        const mine = yield* makeConnector(workspaceId, { projectId: one.id })
        const other = yield* makeConnector(workspaceId, { projectId: two.id })
        const none = yield* makeConnector(workspaceId)
        assert.deepStrictEqual(yield* listed(connectors, { workspaceId, projectId: one.id }), [
          toConnector(mine)
        ])
        assert.deepStrictEqual(
          yield* listed(connectors, { workspaceId, projectId: undefined }),
          [mine, other, none].map(toConnector)
        )
        const elsewhere = yield* makeWorkspace
        assert.deepStrictEqual(yield* listed(connectors, { workspaceId: elsewhere, projectId: one.id }), [])
      })
    )

    it.effect("counts the ACTIVE ones of a workspace alone", () =>
      Effect.gen(function* () {
        const connectors = yield* ConnectorRepo
        const workspaceId = yield* makeWorkspace
        assert.strictEqual(yield* connectors.countActive(workspaceId), 0)
        yield* makeConnector(workspaceId)
        yield* makeConnector(workspaceId, { projectId: (yield* makeProject(workspaceId)).id })
        yield* makeConnector(workspaceId, { status: "INACTIVE" })
        yield* makeConnector(workspaceId, { status: "ERROR" })
        yield* makeConnector(yield* makeWorkspace)
        assert.strictEqual(yield* connectors.countActive(workspaceId), 2)
      })
    )

    it.effect("counts which of some ids are connectors of the workspace, whatever their status", () =>
      Effect.gen(function* () {
        const connectors = yield* ConnectorRepo
        const workspaceId = yield* makeWorkspace
        const one = yield* makeConnector(workspaceId)
        const two = yield* makeConnector(workspaceId, { status: "INACTIVE" })
        yield* makeConnector(workspaceId)
        const foreign = yield* makeConnector(yield* makeWorkspace)
        const countOf = (...ids: ReadonlyArray<string>) => connectors.countOf(workspaceId, ids)
        assert.strictEqual(yield* countOf(), 0)
        assert.strictEqual(yield* countOf(one.id), 1)
        assert.strictEqual(yield* countOf(one.id, two.id), 2)
        assert.strictEqual(yield* countOf(one.id, one.id), 1, "one connector is one, however often named")
        assert.strictEqual(yield* countOf(one.id, foreign.id, "conn_absent"), 1)
        assert.strictEqual(yield* countOf(foreign.id, unicode), 0)
      })
    )

    it.effect("replaces what can change", () =>
      Effect.gen(function* () {
        const connectors = yield* ConnectorRepo
        const connector = yield* makeFullConnector
        const other = yield* makeConnector(connector.workspaceId)
        const changed: StoredConnector = {
          ...connector,
          providerName: "New",
          status: "INACTIVE",
          grantedScopes: ["new"],
          metadata: { new: [unicode] },
          hasCredential: false,
          sealedCredential: null,
          updatedAt: at(9)
        }
        assert.isTrue(yield* connectors.update(changed))
        assert.deepStrictEqual(yield* connectors.find(connector.id), Option.some(changed))
        assert.isTrue(yield* connectors.update({ ...changed, hasCredential: true, sealedCredential: "s" }))
        assert.deepStrictEqual(
          yield* connectors.find(connector.id),
          Option.some({ ...changed, hasCredential: true, sealedCredential: "s" })
        )
        assert.deepStrictEqual(yield* connectors.find(other.id), Option.some(other))
      })
    )

    it.effect("keeps what can't change, whatever an update says", () =>
      Effect.gen(function* () {
        const connectors = yield* ConnectorRepo
        const connector = yield* makeFullConnector
        yield* connectors.update({
          ...connector,
          workspaceId: yield* makeWorkspace,
          projectId: null,
          type: null,
          providerId: "other",
          createdAt: at(5),
          updatedAt: at(9)
        })
        assert.deepStrictEqual(
          yield* connectors.find(connector.id),
          Option.some({ ...connector, updatedAt: at(9) })
        )
      })
    )

    it.effect("keeps the health of one that is there, with what was last known of its server", () =>
      Effect.gen(function* () {
        const connectors = yield* ConnectorRepo
        const connector = yield* makeFullConnector
        const other = yield* makeConnector(connector.workspaceId)
        const health = (id = connector.id) => Effect.map(connectors.health(id), Option.getOrNull)
        assert.isNull(yield* health())

        const server = { serverName: unicode, serverVersion: "1", protocolVersion: "2025-11-25" }
        const error = { code: "unreachable" as const, message: unicode }
        yield* connectors.keepHealth(connector.id, { checkedAt: at(1), error, ...unknownServer })
        assert.deepStrictEqual(yield* health(), { checkedAt: at(1), error, ...unknownServer })
        yield* connectors.keepHealth(connector.id, { checkedAt: at(2), error: null, ...server })
        assert.deepStrictEqual(yield* health(), { checkedAt: at(2), error: null, ...server })
        yield* connectors.keepHealth(connector.id, { checkedAt: at(3), error, ...unknownServer })
        assert.deepStrictEqual(yield* health(), { checkedAt: at(3), error, ...server })
        const renamed = { serverName: null, serverVersion: null, protocolVersion: "2026-07-28" }
        yield* connectors.keepHealth(connector.id, { checkedAt: at(4), error: null, ...renamed })
        assert.deepStrictEqual(yield* health(), { checkedAt: at(4), error: null, ...renamed })

        assert.isNull(yield* health(other.id))
        assert.deepStrictEqual(yield* connectors.find(connector.id), Option.some(connector))
        yield* connectors.keepHealth(other.id, { checkedAt: at(5), error, ...server })
        yield* connectors.forgetHealth(connector.id)
        assert.isNull(yield* health())
        assert.deepStrictEqual(yield* health(other.id), { checkedAt: at(5), error, ...server })

        assert.isTrue(yield* connectors.remove(other.id))
        assert.isNull(yield* health(other.id))
        yield* connectors.keepHealth(other.id, { checkedAt: at(6), error: null, ...server })
        assert.isNull(yield* health(other.id))
      })
    )

    it.effect("updates and removes none where there is none", () =>
      Effect.gen(function* () {
        const connectors = yield* ConnectorRepo
        const connector = yield* makeFullConnector
        const other = yield* makeConnector(connector.workspaceId)
        assert.isTrue(yield* connectors.remove(connector.id))
        assert.deepStrictEqual(yield* connectors.find(connector.id), Option.none())
        assert.isFalse(yield* connectors.remove(connector.id))
        assert.isFalse(yield* connectors.update(connector))
        assert.deepStrictEqual(yield* connectors.find(connector.id), Option.none())
        assert.deepStrictEqual(yield* listed(connectors, { workspaceId: connector.workspaceId }), [
          toConnector(other)
        ])
        assert.deepStrictEqual(yield* connectors.find(other.id), Option.some(other))
      })
    )
  })
