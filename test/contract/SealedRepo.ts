import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { sealedField } from "../../src/Schemas/ConnectorSecrets.ts"
import type { ConnectorId, ProviderKeyId, WebhookId } from "../../src/Schemas/Ids.ts"
import type { Place } from "../../src/Schemas/Secrets.ts"
import { ConnectorRepo } from "../../src/Services/ConnectorRepo.ts"
import { ProviderKeyRepo } from "../../src/Services/ProviderKeyRepo.ts"
import { SealedRepo } from "../../src/Services/SealedRepo.ts"
import { WebhookRepo } from "../../src/Services/WebhookRepo.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import type { It } from "../support/Backends.ts"
import { makeProviderKey, makeWorkspace, newId, unicode } from "../support/Fixtures.ts"
import { makeConnector } from "./ConnectorRepo.ts"
import { readsWhileLocked } from "./Locking.ts"
import { makeWebhook } from "./WebhookRepo.ts"

const samples = Effect.flatMap(SealedRepo, (repo) => repo.samples)

/** Which of the texts, which are in no other row, are among the samples. */
const found = (...texts: ReadonlyArray<string>) =>
  Effect.map(samples, (all) => all.filter(({ sealed }) => texts.includes(sealed)))

export const suite = (it: It) =>
  describe("SealedRepo", () => {
    it.effect("gives the oldest and the newest key of a provider, by id", () =>
      Effect.gen(function* () {
        const keys = yield* ProviderKeyRepo
        const key = yield* makeProviderKey(yield* makeWorkspace)
        const insert = (id: string, sealedApiKey: string | null) =>
          keys.insert({ ...key, id: id as ProviderKeyId, hasApiKey: sealedApiKey !== null, sealedApiKey })
        const mark = yield* newId<string>("providerKey")
        for (const [id, name] of [
          [mark, "young"],
          ["pkey_00", "old"],
          [yield* newId<ProviderKeyId>("providerKey"), "younger"]
        ] as const) {
          yield* insert(id, `${name} ${mark}`)
        }
        yield* insert(yield* newId<ProviderKeyId>("providerKey"), null)
        yield* insert("pkey_000", null)
        const kind = "provider key" as const
        assert.sameDeepMembers(yield* found(`young ${mark}`, `old ${mark}`, `younger ${mark}`), [
          { kind, sealed: `old ${mark}`, newest: false },
          { kind, sealed: `younger ${mark}`, newest: true }
        ])
      })
    )

    it.effect("gives those of connectors, credentials and headers", () =>
      Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace
        const mark = yield* newId<string>("connector")
        const insert = (id: string, name: string) =>
          makeConnector(workspaceId, {
            id: id as ConnectorId,
            hasCredential: true,
            sealedCredential: `${name} credential ${mark}`,
            metadata: { headers: `${name} headers ${mark}`, [sealedField]: `${name} members ${mark}` }
          })
        yield* insert(yield* newId<ConnectorId>("connector"), "middle")
        yield* insert("conn_00", "old")
        yield* insert(yield* newId<ConnectorId>("connector"), "new")
        yield* makeConnector(workspaceId, { metadata: { headers: { a: "b" } } })
        yield* makeConnector(workspaceId)
        const kind = "connector" as const
        const texts = ["old", "middle", "new"].flatMap((name) => [
          `${name} credential ${mark}`,
          `${name} headers ${mark}`,
          `${name} members ${mark}`
        ])
        assert.sameDeepMembers(yield* found(...texts), [
          { kind, sealed: `old credential ${mark}`, newest: false },
          { kind, sealed: `old headers ${mark}`, newest: false },
          { kind, sealed: `new credential ${mark}`, newest: true },
          { kind, sealed: `new headers ${mark}`, newest: true },
          { kind, sealed: `old members ${mark}`, newest: false },
          { kind, sealed: `new members ${mark}`, newest: true }
        ])
      })
    )

    it.effect("gives the texts of each place a page at a time, by id", () =>
      Effect.gen(function* () {
        const repo = yield* SealedRepo
        const workspaceId = yield* makeWorkspace
        const keys = yield* ProviderKeyRepo
        const key = yield* makeProviderKey(workspaceId)
        const ids = yield* Effect.replicateEffect(newId<ProviderKeyId>("providerKey"), 3)
        for (const id of ids) yield* keys.insert({ ...key, id, hasApiKey: true, sealedApiKey: `key ${id}` })
        const all = ids.map((id) => ({ id: id as string, sealed: `key ${id}` }))
        const page = (after: string, limit: number) => repo.page({ place: "apiKey", after, limit })
        assert.deepStrictEqual(yield* page(key.id, 2), all.slice(0, 2))
        assert.deepStrictEqual((yield* page(ids[1] ?? "", 9)).slice(0, 1), all.slice(2))
        const connector = yield* makeConnector(workspaceId, {
          hasCredential: true,
          sealedCredential: "a credential",
          metadata: { headers: "some headers", [sealedField]: "some members" }
        })
        yield* makeConnector(workspaceId, { metadata: { headers: { a: "b" } } })
        for (const [place, sealed] of [
          ["credential", "a credential"],
          ["headers", "some headers"],
          ["metadata", "some members"]
        ] as const) {
          // What others made in the same moment may lie between.
          const behind = yield* repo.page({ place, after: connector.id.slice(0, -1), limit: 32 })
          assert.deepInclude(behind, { id: connector.id, sealed })
          assert.deepStrictEqual(yield* repo.page({ place, after: connector.id, limit: 9 }), [])
        }
      })
    )

    it.effect("replaces what is still there, and nothing else of the row", () =>
      Effect.gen(function* () {
        const repo = yield* SealedRepo
        const workspaceId = yield* makeWorkspace
        const keys = yield* ProviderKeyRepo
        const connectors = yield* ConnectorRepo
        const bare = yield* makeProviderKey(workspaceId)
        const id = yield* newId<ProviderKeyId>("providerKey")
        const key = { ...bare, id, hasApiKey: true, sealedApiKey: "k" }
        yield* keys.insert(key)
        const connector = yield* makeConnector(workspaceId, {
          hasCredential: true,
          sealedCredential: "c",
          metadata: { headers: "h", [sealedField]: "m", url: unicode }
        })
        const replace = (place: Place, of: string, from: string, to: string) =>
          repo.replace({ place, id: of, from, to })
        assert.isFalse(yield* replace("apiKey", id, "other", "k2"))
        assert.isFalse(yield* replace("apiKey", bare.id, "k", "k2"))
        assert.isFalse(yield* replace("credential", connector.id, "h", "c2"))
        assert.isFalse(yield* replace("headers", connector.id, "c", "h2"))
        assert.isFalse(yield* replace("metadata", connector.id, "h", "m2"))
        assert.isFalse(yield* replace("headers", "conn_none", "h", "h2"))
        assert.deepStrictEqual(yield* keys.find(id), Option.some(key))
        assert.deepStrictEqual(yield* connectors.find(connector.id), Option.some(connector))
        assert.isTrue(yield* replace("apiKey", id, "k", "k2"))
        assert.isFalse(yield* replace("apiKey", id, "k", "k3"))
        assert.isTrue(yield* replace("credential", connector.id, "c", "c2"))
        assert.isTrue(yield* replace("headers", connector.id, "h", 'h2 "\\'))
        assert.isTrue(yield* replace("metadata", connector.id, "m", "m2"))
        assert.deepStrictEqual(yield* keys.find(id), Option.some({ ...key, sealedApiKey: "k2" }))
        assert.deepStrictEqual(
          yield* connectors.find(connector.id),
          Option.some({
            ...connector,
            sealedCredential: "c2",
            metadata: { headers: 'h2 "\\', [sealedField]: "m2", url: unicode }
          })
        )
      })
    )

    it.effect("gives the oldest and the newest secret of a webhook, and none that was before", () =>
      Effect.gen(function* () {
        const webhooks = yield* WebhookRepo
        const workspaceId = yield* makeWorkspace
        const mark = yield* newId<string>("webhook")
        const insert = (id: string, name: string) =>
          makeWebhook(workspaceId, {
            id: id as WebhookId,
            sealedSecret: `${name} ${mark}`,
            previousSealedSecret: `${name} before ${mark}`,
            previousUntil: new Date(9_000)
          })
        yield* insert(mark, "middle")
        yield* insert("wh_00", "old")
        const { id } = yield* insert(yield* newId<WebhookId>("webhook"), "new")
        const texts = ["old", "middle", "new"].flatMap((name) => [
          `${name} ${mark}`,
          `${name} before ${mark}`
        ])
        const kind = "webhook" as const
        const old = { kind, sealed: `old ${mark}`, newest: false }
        assert.sameDeepMembers(yield* found(...texts), [old, { kind, sealed: `new ${mark}`, newest: true }])
        yield* webhooks.remove(id)
        assert.sameDeepMembers(yield* found(...texts), [
          old,
          { kind, sealed: `middle ${mark}`, newest: true }
        ])
      })
    )

    it.effect("gives and replaces both secrets of a webhook, and none of one that is gone", () =>
      Effect.gen(function* () {
        const repo = yield* SealedRepo
        const webhooks = yield* WebhookRepo
        const webhook = yield* makeWebhook(yield* makeWorkspace, { sealedSecret: "first" })
        const { id } = webhook
        const at = new Date(5_000)
        const page = (place: Place) =>
          Effect.map(repo.page({ place, after: id.slice(0, -1), limit: 32 }), (found) =>
            found.filter((text) => text.id === id).map(({ sealed }) => sealed)
          )
        assert.deepStrictEqual(yield* page("webhookSecret"), ["first"])
        assert.deepStrictEqual(yield* page("previousWebhookSecret"), [])
        yield* webhooks.rotate(id, { sealedSecret: `second ${id}`, previousUntil: at }, at)
        assert.deepStrictEqual(yield* page("webhookSecret"), [`second ${id}`])
        assert.deepStrictEqual(yield* page("previousWebhookSecret"), ["first"])
        const replace = (place: Place, from: string, to: string) => repo.replace({ place, id, from, to })
        // It was rotated behind the look: what is there now is kept.
        assert.isFalse(yield* replace("webhookSecret", "first", "lost"))
        assert.isFalse(yield* replace("previousWebhookSecret", `second ${id}`, "lost"))
        const before = Option.getOrThrow(yield* webhooks.find(id))
        assert.isTrue(yield* replace("webhookSecret", `second ${id}`, `third ${id}`))
        assert.isTrue(yield* replace("previousWebhookSecret", "first", `fourth ${id}`))
        assert.deepStrictEqual(
          yield* webhooks.find(id),
          Option.some({ ...before, sealedSecret: `third ${id}`, previousSealedSecret: `fourth ${id}` })
        )
        yield* webhooks.remove(id)
        assert.deepStrictEqual(yield* page("webhookSecret"), [])
        assert.deepStrictEqual(yield* page("previousWebhookSecret"), [])
        assert.isFalse(yield* replace("webhookSecret", `third ${id}`, "back"))
        assert.deepStrictEqual(yield* found(`third ${id}`, `fourth ${id}`), [])
      })
    )

    it.effect("gives the metadata that there is a page at a time, and replaces it where it is still so", () =>
      Effect.gen(function* () {
        const repo = yield* SealedRepo
        const connectors = yield* ConnectorRepo
        const workspaceId = yield* makeWorkspace
        const given = { [unicode]: unicode, big: 12_345_678_901_234_567_000, deep: [{ a: null }] }
        const connector = yield* makeConnector(workspaceId, { metadata: given })
        const bare = yield* makeConnector(workspaceId)
        const other = yield* makeConnector(workspaceId, { metadata: { a: 1 } })
        const after = connector.id.slice(0, -1)
        // What others made in the same moment may lie between.
        const page = (yield* repo.metadata({ after, limit: 32 })).filter(({ id }) =>
          [connector.id, bare.id, other.id].some((own) => own === id)
        )
        assert.deepStrictEqual(
          page.map(({ id, metadata }) => [id, JSON.parse(metadata)]),
          [
            [connector.id, given],
            [other.id, { a: 1 }]
          ]
        )
        assert.lengthOf(yield* repo.metadata({ after, limit: 1 }), 1)
        const [{ metadata = "" } = {}] = page
        const to = { [unicode]: unicode, [sealedField]: 'm "\\' }
        const replace = (id: string, from: string) => repo.replaceMetadata({ id, metadata: from, to })
        assert.isFalse(yield* replace(connector.id, "{}"))
        assert.isFalse(yield* replace("conn_none", metadata))
        assert.isTrue(yield* replace(connector.id, metadata))
        assert.isFalse(yield* replace(connector.id, metadata))
        assert.deepStrictEqual(
          yield* connectors.find(connector.id),
          Option.some({ ...connector, metadata: to, hasCredential: true })
        )
        assert.deepStrictEqual(yield* connectors.find(other.id), Option.some(other))
      })
    )

    it.effect("waits for whoever has the workspace of a connector locked", () =>
      Effect.gen(function* () {
        const repo = yield* SealedRepo
        const connectors = yield* ConnectorRepo
        const workspaces = yield* WorkspaceRepo
        const workspaceId = yield* makeWorkspace
        const { id } = yield* makeConnector(workspaceId, { hasCredential: true, sealedCredential: "c" })
        const read = Effect.map(connectors.find(id), (found) => Option.getOrThrow(found).sealedCredential)
        const seen = yield* readsWhileLocked(
          Effect.andThen(workspaces.lock(workspaceId), read),
          repo.replace({ place: "credential", id, from: "c", to: "c2" })
        )
        assert.deepStrictEqual([...new Set(seen)], ["c"])
        assert.strictEqual(yield* read, "c2")
        const plain = yield* makeConnector(workspaceId, { metadata: { a: 1 } })
        const [{ metadata = "" } = {}] = yield* repo.metadata({ after: id, limit: 1 })
        const readPlain = Effect.map(connectors.find(plain.id), (found) => Option.getOrThrow(found).metadata)
        const seenPlain = yield* readsWhileLocked(
          Effect.andThen(workspaces.lock(workspaceId), readPlain),
          repo.replaceMetadata({ id: plain.id, metadata, to: { b: 2 } })
        )
        assert.isTrue(seenPlain.every((found) => "a" in found))
        assert.deepStrictEqual(yield* readPlain, { b: 2 })
      })
    )
  })
