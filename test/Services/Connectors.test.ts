import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { TestClock } from "effect/testing"
import * as Application from "../../src/Layers/Application.ts"
import * as Repo from "../../src/Layers/Repo.ts"
import * as Ring from "../../src/Layers/SecretBox/Ring.ts"
import type { ConnectorMetadata } from "../../src/Schemas/Connector.ts"
import { PlanLimitExceeded } from "../../src/Schemas/Connector.ts"
import { metadataRow, sealedField } from "../../src/Schemas/ConnectorSecrets.ts"
import { headersRow } from "../../src/Schemas/ConnectorServer.ts"
import { Forbidden, InvalidInput, NotFound } from "../../src/Schemas/Errors.ts"
import type { ConnectorId, ProjectId } from "../../src/Schemas/Ids.ts"
import { ConnectorRepo } from "../../src/Services/ConnectorRepo.ts"
import { Connectors } from "../../src/Services/Connectors.ts"
import { SecretBox } from "../../src/Services/SecretBox.ts"
import { Settings } from "../../src/Services/Settings.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import { makeConnector } from "../contract/ConnectorRepo.ts"
import { layerNode } from "../support/Backends.ts"
import * as EmbeddedCopy from "../support/EmbeddedCopy.ts"
import { makeProject } from "../support/Fixtures.ts"
import { listedFor } from "../support/Listed.ts"
import { layerOffline, makeTenant } from "../support/Service.ts"

const layerKeyless = Ring.layer({ current: undefined, former: [] })

const stored = (id: ConnectorId) =>
  Effect.flatMap(ConnectorRepo, (repo) => Effect.map(repo.find(id), Option.getOrThrow))

const secretOf = Effect.fnUntraced(function* (id: ConnectorId) {
  const { sealedCredential } = yield* stored(id)
  const opened = yield* (yield* SecretBox).open(id, sealedCredential ?? "")
  return JSON.parse(Redacted.value(opened)) as unknown
})

/** A workspace with as many connectors as its plan allows. */
const makeFull = Effect.gen(function* () {
  const connectors = yield* Connectors
  const { user, workspaceId } = yield* makeTenant()
  const made = yield* Effect.replicateEffect(connectors.create(user, { workspaceId, type: "custom" }), 5)
  const [first] = made
  if (first === undefined) return yield* Effect.die("no connector")
  return { connectors, first, user, workspaceId }
})

describe("Connectors", () => {
  it.effect("creates one with what is given, and null or nothing for what is not", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_000)
      const connectors = yield* Connectors
      const { user, workspaceId } = yield* makeTenant()
      const connector = yield* connectors.create(user, { workspaceId, type: "custom" })
      assert.deepStrictEqual(connector, {
        id: connector.id,
        workspaceId,
        projectId: null,
        type: "custom",
        providerId: null,
        providerName: null,
        status: "ACTIVE",
        grantedScopes: [],
        hasCredential: false,
        createdAt: new Date(1_000),
        updatedAt: new Date(1_000)
      })
      assert.deepStrictEqual(yield* connectors.get(user, connector.id), connector)
      assert.deepStrictEqual(yield* listedFor(connectors, user, { workspaceId }), [connector])
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("takes the name and scopes of a provider that it knows, unless others are given", () =>
    Effect.gen(function* () {
      const connectors = yield* Connectors
      const { user, workspaceId } = yield* makeTenant()
      const create = (given: object) =>
        Effect.map(connectors.create(user, { workspaceId, ...given }), (made) => [
          made.providerName,
          made.grantedScopes,
          made.type
        ])
      assert.deepStrictEqual(yield* create({ providerId: "github" }), ["GitHub", ["repo", "read:user"], null])
      assert.deepStrictEqual(
        yield* create({ providerId: "github", providerName: "Ours", grantedScopes: [], type: "mcp" }),
        ["Ours", [], "mcp"]
      )
      assert.deepStrictEqual(yield* create({ providerId: "github", providerName: null }), [
        "GitHub",
        ["repo", "read:user"],
        null
      ])
      assert.deepStrictEqual(yield* create({ providerId: "unheard-of" }), [null, [], null])
      assert.deepStrictEqual(yield* create({ providerId: "constructor" }), [null, [], null])
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect.each([["canary-1"], [{ user: "canary-2", password: "canary-3" }]] as const)(
    "seals the credential %j for its row, and shows only that there is one",
    ([credential]) =>
      Effect.gen(function* () {
        const connectors = yield* Connectors
        const { user, workspaceId } = yield* makeTenant()
        const metadata = { url: "https://example.org", nested: { a: [1] }, credential }
        const made = yield* connectors.create(user, { workspaceId, type: "mcp", metadata })
        const patched = yield* connectors.update(user, made.id, { providerName: "New" })
        const row = yield* stored(made.id)
        assert.isTrue(made.hasCredential)
        assert.isTrue(patched.hasCredential)
        assert.deepStrictEqual(row.metadata, { url: "https://example.org", nested: { a: [1] } })
        const seen = [made, patched, row, yield* listedFor(connectors, user, { workspaceId })]
        assert.notInclude(JSON.stringify(seen), "canary")
        assert.deepStrictEqual(yield* secretOf(made.id), credential)
        const box = yield* SecretBox
        yield* Effect.flip(box.open("conn_other", row.sealedCredential ?? ""))
      }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("seals headers, where keys are too, bound to what they are", () =>
    Effect.gen(function* () {
      const connectors = yield* Connectors
      const { user, workspaceId } = yield* makeTenant()
      const headers = { "x-api-key": "canary-4" }
      const metadata = { url: "https://example.org", headers }
      const made = yield* connectors.create(user, { workspaceId, type: "mcp", metadata })
      const row = yield* stored(made.id)
      assert.isTrue(made.hasCredential)
      assert.notInclude(JSON.stringify([made, row]), "canary")
      const box = yield* SecretBox
      const sealed = String(row.metadata.headers)
      const opened = yield* box.open(headersRow(made.id), sealed)
      assert.deepStrictEqual(JSON.parse(Redacted.value(opened)), headers)
      yield* Effect.flip(box.open(made.id, sealed))
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect.each([
    [{ url: "https://example.org/?key=canary", region: "eu" }],
    [{ url: "https://example.org/s/canary0123456789ab/mcp" }],
    [{ url: "https://example.org", options: [{ deep: { apiKey: "canary" } }], tokenLimit: 5 }],
    [{ url: "https://example.org", list: [{ name: "Authorization", value: "canary" }] }]
  ] as const)("seals what is secret in %j, and loses nothing by other changes", ([metadata]) =>
    Effect.gen(function* () {
      const connectors = yield* Connectors
      const { user, workspaceId } = yield* makeTenant()
      const made = yield* connectors.create(user, { workspaceId, type: "mcp", metadata })
      const read = yield* connectors.get(user, made.id)
      assert.isTrue(read.hasCredential)
      // What is read back and written changes nothing of it.
      const { grantedScopes } = read
      const patched = yield* connectors.update(user, made.id, { grantedScopes, status: "ACTIVE" })
      const row = yield* stored(made.id)
      const seen = [made, read, patched, row, yield* connectors.list(user, { workspaceId })]
      assert.notInclude(JSON.stringify(seen), "canary")
      assert.isTrue(patched.hasCredential)
      const { [sealedField]: sealed, ...open } = row.metadata
      const opened = yield* (yield* SecretBox).open(metadataRow(made.id), String(sealed))
      assert.deepStrictEqual({ ...open, ...JSON.parse(Redacted.value(opened)) }, metadata)
      yield* Effect.flip((yield* SecretBox).open(made.id, String(sealed)))
      // Metadata replaces all of it: a new address never gets an old secret.
      const bare = yield* connectors.update(user, made.id, { metadata: { url: "https://example.com/" } })
      assert.isFalse(bare.hasCredential)
      assert.deepStrictEqual((yield* stored(made.id)).metadata, { url: "https://example.com/" })
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect(
    "refuses what an MCP server can never be reached with, when it is made and when it is changed",
    () =>
      Effect.gen(function* () {
        const connectors = yield* Connectors
        const { user, workspaceId } = yield* makeTenant()
        const url = "http://x"
        const rows: ReadonlyArray<readonly [ConnectorMetadata | undefined, string]> = [
          [undefined, "metadata.url: is required for type mcp"],
          [{}, "metadata.url: is required for type mcp"],
          [
            { command: "npx", args: ["x"] },
            "metadata.command: servers that speak stdio are not started here"
          ],
          [{ url, command: "npx" }, "metadata.command: servers that speak stdio are not started here"],
          [{ url: null }, "metadata.url: must be an http or https address"],
          [{ url: "nonsense" }, "metadata.url: must be an http or https address"],
          [{ url: 5 }, "metadata.url: must be an http or https address"],
          [{ url: "http://u:canary@x" }, "metadata.url: must not contain a user name or password"],
          [{ url, headers: "x" }, "metadata.headers: must be an object of strings"],
          [{ url, headers: { "bad name": "x" } }, "metadata.headers: can't be sent"],
          [{ url, headers: { a: "canary\nb" } }, "metadata.headers: a can't be sent as a header"],
          [
            { url, credential: "canary\r\nx: y" },
            "metadata.credential: authorization can't be sent as a header"
          ],
          [
            { url, credential: "canary 日本" },
            "metadata.credential: authorization can't be sent as a header"
          ],
          [
            { url, credential: { "x-key": "\u0007canary" } },
            "metadata.credential: x-key can't be sent as a header"
          ]
        ]
        const made = yield* connectors.create(user, { workspaceId, type: "mcp", metadata: { url } })
        const known = yield* connectors.create(user, { workspaceId, providerId: "github" })
        for (const [metadata = {}, sentence] of rows) {
          const refused = yield* Effect.flip(connectors.create(user, { workspaceId, type: "mcp", metadata }))
          const patched = yield* Effect.flip(connectors.update(user, made.id, { metadata }))
          for (const error of [refused, patched]) {
            assert.instanceOf(error, InvalidInput)
            assert.include(error.error, sentence)
            assert.notInclude(error.error, "canary")
          }
          yield* connectors.create(user, { workspaceId, type: "custom", metadata })
          yield* Effect.forEach(yield* listedFor(connectors, user, { workspaceId }), ({ id, type }) =>
            type === "custom" ? connectors.remove(user, id) : Effect.void
          )
        }
        const bare = yield* Effect.flip(connectors.create(user, { workspaceId, type: "mcp" }))
        assert.include(bare.error, "metadata.url: is required for type mcp")
        // Of a provider with a known address, it is what is sent there that counts.
        yield* connectors.create(user, { workspaceId, type: "mcp", providerId: "github" })
        yield* connectors.update(user, known.id, { metadata: { credential: "fine" } })
        const unsendable = yield* Effect.flip(
          connectors.update(user, known.id, { metadata: { credential: "canary\n1" } })
        )
        assert.include(unsendable.error, "metadata.credential: authorization can't be sent as a header")
      }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("shows, changes and deletes what a version before has stored, and takes no more of it", () =>
    Effect.gen(function* () {
      const connectors = yield* Connectors
      const { user, workspaceId } = yield* makeTenant()
      const metadata = { command: "npx" }
      const { id } = yield* makeConnector(workspaceId, { type: "mcp", status: "ERROR", metadata })
      assert.strictEqual((yield* connectors.get(user, id)).status, "ERROR")
      const named = yield* connectors.update(user, id, { providerName: "New", status: "INACTIVE" })
      assert.deepStrictEqual([named.providerName, named.status], ["New", "INACTIVE"])
      assert.deepStrictEqual((yield* stored(id)).metadata, metadata)
      assert.instanceOf(yield* Effect.flip(connectors.update(user, id, { metadata })), InvalidInput)
      yield* connectors.update(user, id, { metadata: { url: "https://a.example.org/" } })
      yield* connectors.remove(user, id)
      assert.deepStrictEqual(yield* listedFor(connectors, user, { workspaceId }), [])
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("replaces metadata and credential together", () =>
    Effect.gen(function* () {
      const connectors = yield* Connectors
      const { user, workspaceId } = yield* makeTenant()
      const metadata = { url: "https://a.example.org/", credential: "canary-1" }
      const { id } = yield* connectors.create(user, { workspaceId, type: "mcp", metadata })
      yield* connectors.update(user, id, {
        metadata: { url: "https://b.example.org/", credential: { token: "canary-2" } }
      })
      assert.deepStrictEqual((yield* stored(id)).metadata, { url: "https://b.example.org/" })
      assert.deepStrictEqual(yield* secretOf(id), { token: "canary-2" })
      const url = "https://b.example.org/"
      const bare = yield* connectors.update(user, id, { metadata: { url } })
      assert.isFalse(bare.hasCredential)
      const { metadata: left, sealedCredential } = yield* stored(id)
      assert.deepStrictEqual([left, sealedCredential], [{ url }, null])
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("refuses a credential where there is no key to seal it, and stores nothing of it", () =>
    Effect.gen(function* () {
      const connectors = yield* Connectors
      const { user, workspaceId } = yield* makeTenant()
      const metadata = { url: "https://b.example.org/", credential: "canary" }
      const error = yield* Effect.flip(connectors.create(user, { workspaceId, type: "mcp", metadata }))
      assert.instanceOf(error, InvalidInput)
      assert.match(error.error, /^metadata\.credential: can't be stored: .*AGENTD_SECRET_KEY/u)
      assert.deepStrictEqual(yield* listedFor(connectors, user, { workspaceId }), [])
      const made = yield* connectors.create(user, {
        workspaceId,
        type: "mcp",
        metadata: { url: "https://a.example.org/" }
      })
      assert.instanceOf(yield* Effect.flip(connectors.update(user, made.id, { metadata })), InvalidInput)
      assert.deepStrictEqual((yield* stored(made.id)).metadata, { url: "https://a.example.org/" })
    }).pipe(
      Effect.provide(
        Application.layer.pipe(
          Layer.provideMerge(layerKeyless),
          Layer.provideMerge(Repo.layerMemory),
          Layer.provideMerge(Layer.succeed(Settings, Settings.defaults))
        )
      )
    )
  )

  it.effect("has no room for a sixth active one on the free plan, made or switched on", () =>
    Effect.gen(function* () {
      const { connectors, first, user, workspaceId } = yield* makeFull
      const sixth = yield* Effect.flip(connectors.create(user, { workspaceId, type: "custom" }))
      assert.instanceOf(sixth, PlanLimitExceeded)
      assert.strictEqual(sixth.error, "the free plan allows at most 5 active connectors")

      const off = yield* connectors.update(user, first.id, { status: "INACTIVE" })
      assert.strictEqual(off.status, "INACTIVE")
      const next = yield* connectors.create(user, { workspaceId, type: "custom" })
      const again = yield* Effect.flip(
        connectors.update(user, first.id, { status: "ACTIVE", providerName: "New" })
      )
      assert.instanceOf(again, PlanLimitExceeded)
      assert.deepStrictEqual(yield* connectors.get(user, first.id), off, "a refused patch changed something")

      yield* connectors.remove(user, next.id)
      assert.strictEqual((yield* connectors.update(user, first.id, { status: "ACTIVE" })).status, "ACTIVE")
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("lets an active one stay so, and be changed, when there is no room", () =>
    Effect.gen(function* () {
      const { connectors, first, user } = yield* makeFull
      const kept = yield* connectors.update(user, first.id, { status: "ACTIVE", grantedScopes: ["read"] })
      assert.deepStrictEqual([kept.status, kept.grantedScopes], ["ACTIVE", ["read"]])
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("counts those in ERROR out, and other workspaces", () =>
    Effect.gen(function* () {
      const { connectors, first, user, workspaceId } = yield* makeFull
      yield* (yield* ConnectorRepo).update({ ...(yield* stored(first.id)), status: "ERROR" })
      yield* connectors.create(user, { workspaceId, type: "custom" })
      assert.instanceOf(
        yield* Effect.flip(connectors.update(user, first.id, { status: "ACTIVE" })),
        PlanLimitExceeded
      )
      const elsewhere = yield* makeTenant()
      yield* connectors.create(elsewhere.user, { workspaceId: elsewhere.workspaceId, type: "custom" })
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("has no limit on the other plan", () =>
    Effect.gen(function* () {
      const { connectors, user, workspaceId } = yield* makeFull
      yield* (yield* WorkspaceRepo).setPlan(workspaceId, "pro", new Date(0))
      yield* Effect.replicateEffect(connectors.create(user, { workspaceId, type: "custom" }), 5)
      assert.strictEqual((yield* listedFor(connectors, user, { workspaceId })).length, 10)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("shows a stranger nothing, and takes no foreign project", () =>
    Effect.gen(function* () {
      const { connectors, first, user, workspaceId } = yield* makeFull
      const { user: stranger, workspaceId: elsewhere } = yield* makeTenant()
      const given = { workspaceId, type: "custom" }
      assert.instanceOf(yield* Effect.flip(connectors.create(stranger, given)), Forbidden)
      assert.instanceOf(yield* Effect.flip(listedFor(connectors, stranger, { workspaceId })), Forbidden)
      for (const id of [first.id, "conn_absent" as ConnectorId]) {
        for (const error of [
          yield* Effect.flip(connectors.get(stranger, id)),
          yield* Effect.flip(connectors.update(stranger, id, { status: "INACTIVE" })),
          yield* Effect.flip(connectors.remove(stranger, id))
        ]) {
          assert.deepStrictEqual([error instanceof NotFound, error.error], [true, "connector not found"])
        }
      }
      assert.deepStrictEqual(yield* connectors.get(user, first.id), first)
      const foreign = (yield* makeProject(elsewhere)).id
      for (const projectId of [foreign, "proj_absent" as ProjectId]) {
        const sentence = "projectId: does not exist in this workspace"
        const made = yield* Effect.flip(connectors.create(user, { ...given, projectId }))
        assert.strictEqual(made.error, sentence)
        assert.strictEqual(
          (yield* Effect.flip(listedFor(connectors, user, { workspaceId, projectId }))).error,
          sentence
        )
      }
    }).pipe(Effect.provide(layerOffline()))
  )
})

const layerEmbedded = Application.layer.pipe(
  Layer.provideMerge(Ring.layer({ current: undefined, former: [] })),
  Layer.provideMerge(layerNode(EmbeddedCopy.layerClient))
)

describe("the limit of active connectors, with 50 at once", () => {
  const exact = Effect.gen(function* () {
    const connectors = yield* Connectors
    const { user, workspaceId } = yield* makeTenant()
    const create = Effect.result(connectors.create(user, { workspaceId, type: "custom" }))
    const made = yield* Effect.all(
      Array.from({ length: 50 }, () => create),
      { concurrency: "unbounded" }
    )
    assert.strictEqual(made.filter(Result.isSuccess).length, 5)
    for (const result of made) {
      if (Result.isFailure(result)) assert.instanceOf(result.failure, PlanLimitExceeded)
    }
    assert.strictEqual((yield* listedFor(connectors, user, { workspaceId })).length, 5)

    const elsewhere = yield* makeTenant()
    const off = yield* Effect.replicateEffect(
      makeConnector(elsewhere.workspaceId, { status: "INACTIVE" }),
      20
    )
    const switched = yield* Effect.forEach(
      off,
      ({ id }) => Effect.result(connectors.update(elsewhere.user, id, { status: "ACTIVE" })),
      { concurrency: "unbounded" }
    )
    assert.strictEqual(switched.filter(Result.isSuccess).length, 5)
    assert.strictEqual(yield* (yield* ConnectorRepo).countActive(elsewhere.workspaceId), 5)
  })
  it.live("is exact in memory", () => Effect.provide(exact, layerOffline()))
  it.live("is exact on the embedded database", () => Effect.provide(exact, layerEmbedded))
})
