import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Schema from "effect/Schema"
import { TestClock } from "effect/testing"
import * as Repo from "../../src/Layers/Repo.ts"
import * as Ring from "../../src/Layers/SecretBox/Ring.ts"
import { hasSealed, metadataRow, sealedField } from "../../src/Schemas/ConnectorSecrets.ts"
import { headersRow } from "../../src/Schemas/ConnectorServer.ts"
import type { ConnectorId } from "../../src/Schemas/Ids.ts"
import { ConnectorRepo } from "../../src/Services/ConnectorRepo.ts"
import { Ids } from "../../src/Services/Ids.ts"
import * as PlainSecrets from "../../src/Services/PlainSecrets.ts"
import { SealedRepo } from "../../src/Services/SealedRepo.ts"
import { SecretBox } from "../../src/Services/SecretBox.ts"
import { Settings } from "../../src/Services/Settings.ts"
import { makeConnector } from "../contract/ConnectorRepo.ts"
import { makeWorkspace } from "../support/Fixtures.ts"
import { makeLog } from "../support/Log.ts"
import { eventually } from "../support/Until.ts"

const key = Buffer.alloc(Ring.keyBytes, 1).toString("base64")
const memory = Repo.layerMemory.pipe(
  Layer.provideMerge(Ids.layer),
  Layer.provideMerge(Layer.succeed(Settings, Settings.defaults))
)
const keyed = Layer.provideMerge(memory, Ring.layer({ current: key, former: [] }))
const keyless = Layer.provideMerge(memory, Ring.layer({ current: undefined, former: [] }))

const stored = (id: ConnectorId) =>
  Effect.flatMap(ConnectorRepo, (repo) => Effect.map(repo.find(id), Option.getOrThrow))

const openedOf = Effect.fnUntraced(function* (id: ConnectorId) {
  const box = yield* SecretBox
  const { [sealedField]: sealed, headers, ...open } = (yield* stored(id)).metadata
  const opened = (row: string, text: Schema.Json | undefined) =>
    typeof text === "string"
      ? Effect.map(box.open(row, text), (secret) => JSON.parse(Redacted.value(secret)) as Schema.JsonObject)
      : Effect.succeed(undefined)
  const given = yield* opened(headersRow(id), headers)
  return {
    ...open,
    ...(yield* opened(metadataRow(id), sealed)),
    ...(given !== undefined && { headers: given })
  }
})

const rows: ReadonlyArray<Schema.JsonObject> = [
  { url: "https://example.org/?key=canary", region: "eu", big: 1e21 },
  { url: "https://example.org", headers: { "x-key": "canary" } },
  { url: "https://example.org", headers: { a: "canary" }, options: { token: "canary" } }
]

const fill = Effect.fnUntraced(function* () {
  const workspaceId = yield* makeWorkspace
  const untouched = yield* makeConnector(workspaceId, {
    metadata: { url: "https://example.org", tokenLimit: 5 }
  })
  const ids = yield* Effect.forEach(rows, (metadata) =>
    Effect.map(makeConnector(workspaceId, { metadata }), ({ id }) => id)
  )
  return { ids, untouched }
})

const seal = Effect.flatMap(PlainSecrets.make(Effect.yieldNow), (plain) => plain.seal)
const count = Effect.flatMap(PlainSecrets.make(Effect.yieldNow), (plain) => plain.count)

describe("secrets that a version before has stored as they are", () => {
  it.effect("are sealed once, and nothing else is changed", () =>
    Effect.gen(function* () {
      const { ids, untouched } = yield* fill()
      assert.strictEqual(yield* count, 3)
      assert.strictEqual(yield* seal, 3)
      for (const [index, id] of ids.entries()) {
        const row = yield* stored(id)
        assert.notInclude(JSON.stringify(row), "canary")
        assert.isTrue(row.hasCredential)
        assert.isTrue(hasSealed(row))
        assert.deepStrictEqual(yield* openedOf(id), rows[index])
      }
      assert.deepStrictEqual(yield* stored(untouched.id), untouched)
      const before = yield* Effect.forEach(ids, stored)
      assert.strictEqual(yield* count, 0)
      assert.strictEqual(yield* seal, 0)
      assert.deepStrictEqual(yield* Effect.forEach(ids, stored), before)
    }).pipe(Effect.provide(keyed))
  )

  it.effect("join what is sealed of a connector already", () =>
    Effect.gen(function* () {
      const { ids } = yield* fill()
      yield* seal
      const [id] = ids
      if (id === undefined) return yield* Effect.die("no connector")
      const repo = yield* ConnectorRepo
      const row = yield* stored(id)
      yield* repo.update({ ...row, metadata: { ...row.metadata, later: { secret: "canary" } } })
      assert.strictEqual(yield* seal, 1)
      assert.notInclude(JSON.stringify(yield* stored(id)), "canary")
      assert.deepStrictEqual<object>(yield* openedOf(id), { ...rows[0], later: { secret: "canary" } })
    }).pipe(Effect.provide(keyed))
  )

  it.effect("are sealed by two nodes at once, each once", () =>
    Effect.gen(function* () {
      yield* fill()
      const done = yield* Effect.all([seal, seal], { concurrency: 2 })
      assert.strictEqual(done[0] + done[1], 3)
    }).pipe(Effect.provide(keyed))
  )

  it.effect("stay as somebody else changes them meanwhile", () =>
    Effect.gen(function* () {
      const { ids } = yield* fill()
      const repo = yield* SealedRepo
      const connectors = yield* ConnectorRepo
      const rival = SealedRepo.of({
        ...repo,
        replaceMetadata: (given) =>
          Effect.gen(function* () {
            const row = Option.getOrThrow(yield* connectors.find(given.id as ConnectorId))
            yield* connectors.update({ ...row, metadata: { url: "https://new.example" } })
            return yield* repo.replaceMetadata(given)
          })
      })
      assert.strictEqual(yield* Effect.provideService(seal, SealedRepo, rival), 0)
      for (const id of ids) {
        assert.deepStrictEqual((yield* stored(id)).metadata, { url: "https://new.example" })
      }
    }).pipe(Effect.provide(keyed))
  )

  it.effect("are sealed at a start and each hour, over pages", () =>
    Effect.gen(function* () {
      const workspaceId = yield* makeWorkspace
      const make = Effect.map(
        makeConnector(workspaceId, { metadata: { token: "canary" } as Schema.JsonObject }),
        ({ id }) => id
      )
      const ids = yield* Effect.replicateEffect(make, 250)
      yield* Layer.build(PlainSecrets.layer)
      const isSealed = (id: ConnectorId) => Effect.map(stored(id), hasSealed)
      const areSealed = Effect.map(Effect.forEach(ids, isSealed), (all) => all.every((is) => is))
      // Sealing takes its time, and only then the pause between pages begins.
      yield* eventually(Effect.andThen(TestClock.adjust("1 second"), areSealed), "sealed")
      for (const id of ids) assert.deepStrictEqual<object>(yield* openedOf(id), { token: "canary" })
      yield* TestClock.adjust("1 second")
      const later = yield* make
      yield* TestClock.adjust("50 minutes")
      assert.isFalse(yield* isSealed(later))
      yield* eventually(Effect.andThen(TestClock.adjust("1 minute"), isSealed(later)), "sealed later")
    }).pipe(Effect.provide(keyed))
  )

  it.effect("stay as they are without a key, which the log tells", () =>
    Effect.gen(function* () {
      const { ids } = yield* fill()
      const before = yield* Effect.forEach(ids, stored)
      const log = makeLog()
      yield* Effect.provide(
        Effect.andThen(Layer.build(PlainSecrets.layer), TestClock.adjust("1 second")),
        log.layer
      )
      assert.deepStrictEqual(yield* Effect.forEach(ids, stored), before)
      const said = JSON.stringify(log.lines)
      assert.include(said, "secrets of connectors are not sealed")
      assert.include(said, "no AGENTD_SECRET_KEY")
      assert.notInclude(said, "canary")
    }).pipe(Effect.provide(keyless))
  )
})
