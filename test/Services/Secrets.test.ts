import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Repo from "../../src/Layers/Repo.ts"
import * as Ring from "../../src/Layers/SecretBox/Ring.ts"
import { metadataRow, sealedField } from "../../src/Schemas/ConnectorSecrets.ts"
import { headersRow } from "../../src/Schemas/ConnectorServer.ts"
import type { ProviderKeyId } from "../../src/Schemas/Ids.ts"
import { ConnectorRepo } from "../../src/Services/ConnectorRepo.ts"
import { Ids } from "../../src/Services/Ids.ts"
import { ProviderKeyRepo } from "../../src/Services/ProviderKeyRepo.ts"
import { SealedRepo } from "../../src/Services/SealedRepo.ts"
import { SecretBox } from "../../src/Services/SecretBox.ts"
import { Secrets } from "../../src/Services/Secrets.ts"
import { Settings } from "../../src/Services/Settings.ts"
import { makeConnector } from "../contract/ConnectorRepo.ts"
import { makeProviderKey, makeWorkspace, newId } from "../support/Fixtures.ts"

const keyOf = (byte: number) => Buffer.alloc(Ring.keyBytes, byte).toString("base64")
const [one, two, three] = [keyOf(1), keyOf(2), keyOf(3)]

/** Everything in memory, and the keys of a process: another process is another layer over the same memory. */
const memory = Repo.layerMemory.pipe(
  Layer.provideMerge(Ids.layer),
  Layer.provideMerge(Layer.succeed(Settings, Settings.defaults))
)
const withKeys = (current: string | undefined, ...former: ReadonlyArray<string>) => {
  const box = Ring.layer({ current, former })
  return <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.provide(effect, Layer.provideMerge(Secrets.layer, box), { local: true })
}
const reseal = Effect.flatMap(Secrets, (secrets) => secrets.reseal(false))
const check = Effect.flatMap(Secrets, (secrets) => secrets.check)

const seal = (row: string, text: string) =>
  Effect.flatMap(SecretBox, (box) => box.seal(row, Redacted.make(text)))

/** Provider keys and connectors whose secrets the present key seals, each its own id. */
const fill = Effect.fnUntraced(function* (count: number) {
  const workspaceId = yield* makeWorkspace
  const keys = yield* ProviderKeyRepo
  const bare = yield* makeProviderKey(workspaceId)
  const ids: Array<string> = []
  for (let n = 0; n < count; n++) {
    const id = yield* newId<ProviderKeyId>("providerKey")
    yield* keys.insert({ ...bare, id, hasApiKey: true, sealedApiKey: yield* seal(id, id) })
    const conn = yield* newId<never>("connector")
    yield* makeConnector(workspaceId, {
      id: conn,
      hasCredential: true,
      sealedCredential: yield* seal(conn, conn),
      metadata: {
        headers: yield* seal(headersRow(conn), conn),
        [sealedField]: yield* seal(metadataRow(conn), conn)
      }
    })
    ids.push(id, conn)
  }
  return ids
})

const sealedOf = Effect.fnUntraced(function* (id: string) {
  if (id.startsWith("pkey")) {
    const key = Option.getOrThrow(yield* (yield* ProviderKeyRepo).find(id as never))
    return [[id, key.sealedApiKey ?? ""]] as const
  }
  const connector = Option.getOrThrow(yield* (yield* ConnectorRepo).find(id as never))
  return [
    [id, connector.sealedCredential ?? ""],
    [headersRow(id), String(connector.metadata.headers)],
    [metadataRow(id), String(connector.metadata[sealedField])]
  ] as const
})

/** Every secret is still the one that was sealed. */
const assertOpen = Effect.fnUntraced(function* (ids: ReadonlyArray<string>) {
  const box = yield* SecretBox
  for (const id of ids) {
    for (const [row, sealed] of yield* sealedOf(id)) {
      assert.strictEqual(Redacted.value(yield* box.open(row, sealed)), id)
    }
  }
})

const none = { resealed: 0, current: 0, former: 0, unreadable: 0, unreadableIds: [], plain: 0 }

describe("resealing", () => {
  it.effect("seals all with the present key, after which the one before is needed no more", () =>
    Effect.gen(function* () {
      // More than a page of each.
      const ids = yield* withKeys(one)(fill(120))
      assert.deepStrictEqual(yield* withKeys(two, one)(check), { ...none, former: 480 })
      assert.deepStrictEqual(yield* withKeys(two, one)(reseal), { ...none, resealed: 480 })
      assert.deepStrictEqual(yield* withKeys(two)(check), { ...none, current: 480 })
      assert.deepStrictEqual(yield* withKeys(two)(reseal), { ...none, current: 480 })
      yield* withKeys(two)(assertOpen(ids))
    }).pipe(Effect.provide(memory))
  )

  it.effect("leaves what it can't open as it is, and names it", () =>
    Effect.gen(function* () {
      const lost = yield* withKeys(three)(fill(12))
      const ids = yield* withKeys(one)(fill(1))
      const before = yield* Effect.forEach(lost, sealedOf)
      const report = yield* withKeys(two, one)(reseal)
      assert.deepInclude(report, { resealed: 4, current: 0, former: 0, unreadable: 48 })
      assert.strictEqual(report.unreadableIds.length, 20)
      assert.isTrue(report.unreadableIds.every((id) => lost.includes(id)))
      assert.deepStrictEqual(yield* Effect.forEach(lost, sealedOf), before)
      assert.deepInclude(yield* withKeys(two)(check), { current: 4, unreadable: 48 })
      yield* withKeys(two)(assertOpen(ids))
      // With the key found again, it goes on.
      assert.deepInclude(yield* withKeys(two, three)(reseal), { resealed: 48, current: 4, unreadable: 0 })
      yield* withKeys(two)(assertOpen([...ids, ...lost]))
    }).pipe(Effect.provide(memory))
  )

  it.effect("does not write over what somebody else changes meanwhile, and reseals that too", () =>
    Effect.gen(function* () {
      const [id = ""] = yield* withKeys(one)(fill(1))
      const changed = yield* withKeys(one)(seal(id, "changed"))
      const repo = yield* SealedRepo
      let isFirst = true
      // Somebody's change, between the reading and the writing, sealed by a node that has the key of before.
      const rival = SealedRepo.of({
        ...repo,
        replace: (text) =>
          Effect.gen(function* () {
            if (text.id === id && isFirst) {
              isFirst = false
              yield* repo.replace({ ...text, to: changed })
            }
            return yield* repo.replace(text)
          })
      })
      const report = yield* withKeys(
        two,
        one
      )(Effect.provideService(reseal, SealedRepo, rival)).pipe(Effect.provideService(SealedRepo, rival))
      assert.deepInclude(report, { resealed: 4, former: 0, unreadable: 0 })
      const [[, sealed] = ["", ""]] = yield* sealedOf(id)
      const opened = yield* withKeys(two)(Effect.flatMap(SecretBox, (box) => box.open(id, sealed)))
      assert.strictEqual(Redacted.value(opened), "changed")
    }).pipe(Effect.provide(memory))
  )

  it.effect("may be done by two at once", () =>
    Effect.gen(function* () {
      const ids = yield* withKeys(one)(fill(60))
      const reports = yield* Effect.all([withKeys(two, one)(reseal), withKeys(two, one)(reseal)], {
        concurrency: 2
      })
      assert.strictEqual(
        reports.reduce((sum, { resealed }) => sum + resealed, 0),
        240
      )
      yield* withKeys(two)(assertOpen(ids))
    }).pipe(Effect.provide(memory))
  )

  it.effect("needs a key to seal with, and renews only what is its own", () =>
    Effect.gen(function* () {
      yield* withKeys(one)(fill(1))
      assert.include((yield* Effect.flip(withKeys(undefined, one)(reseal))).error, "no AGENTD_SECRET_KEY")
      const renewed = Effect.flatMap(Secrets, (secrets) => secrets.reseal(true))
      assert.include(
        (yield* Effect.flip(withKeys(one)(renewed))).error,
        "the key is that of AGENTD_SECRET_KEY"
      )
      assert.deepStrictEqual(yield* withKeys(one)(check), { ...none, current: 4 })
    }).pipe(Effect.provide(memory))
  )

  it.effect("seals what is stored plain, and counts it where there is no key", () =>
    Effect.gen(function* () {
      const workspaceId = yield* makeWorkspace
      const { id } = yield* makeConnector(workspaceId, { metadata: { url: "https://h.example/?key=canary" } })
      yield* makeConnector(workspaceId, { metadata: { url: "https://h.example/" } })
      assert.deepStrictEqual(yield* withKeys(undefined)(check), { ...none, plain: 1 })
      assert.include((yield* Effect.flip(withKeys(undefined)(reseal))).error, "no AGENTD_SECRET_KEY")
      assert.deepStrictEqual(yield* withKeys(one)(reseal), { ...none, resealed: 1 })
      assert.deepStrictEqual(yield* withKeys(one)(check), { ...none, current: 1 })
      const { metadata } = Option.getOrThrow(yield* (yield* ConnectorRepo).find(id))
      assert.notInclude(JSON.stringify(metadata), "canary")
    }).pipe(Effect.provide(memory))
  )
})
