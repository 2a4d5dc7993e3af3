import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { TestClock } from "effect/testing"
import * as Repo from "../../src/Layers/Repo.ts"
import type { ConnectorStatus } from "../../src/Schemas/Connector.ts"
import { Unavailable } from "../../src/Schemas/Errors.ts"
import type { ConnectorId } from "../../src/Schemas/Ids.ts"
import { ConnectorHealth } from "../../src/Services/ConnectorHealth.ts"
import { ConnectorRepo } from "../../src/Services/ConnectorRepo.ts"
import * as ConnectorReports from "../../src/Services/ConnectorReports.ts"
import { Ids } from "../../src/Services/Ids.ts"
import { Settings } from "../../src/Services/Settings.ts"
import { WorkspaceRepo } from "../../src/Services/WorkspaceRepo.ts"
import { makeConnector } from "../contract/ConnectorRepo.ts"
import { layerNode } from "../support/Backends.ts"
import * as EmbeddedCopy from "../support/EmbeddedCopy.ts"
import { makeWorkspace } from "../support/Fixtures.ts"

const layerMemory = ConnectorReports.layer.pipe(
  Layer.provideMerge(Repo.layerMemory),
  Layer.provideMerge(Layer.mergeAll(Layer.succeed(Settings, Settings.defaults), Ids.layer))
)

const layerEmbedded = ConnectorReports.layer.pipe(Layer.provideMerge(layerNode(EmbeddedCopy.layerClient)))

const stored = (id: ConnectorId) =>
  Effect.flatMap(ConnectorRepo, (repo) => Effect.map(repo.find(id), Option.getOrThrow))

const made = (status: ConnectorStatus) =>
  Effect.flatMap(makeWorkspace, (workspaceId) => makeConnector(workspaceId, { status }))

describe("ConnectorHealth", () => {
  it.effect.each([
    ["ACTIVE", false, "ERROR", false],
    ["ERROR", true, "ACTIVE", true],
    ["ACTIVE", true, "ACTIVE", true],
    ["ERROR", false, "ERROR", false],
    ["INACTIVE", true, "INACTIVE", false],
    ["INACTIVE", false, "INACTIVE", false]
  ] as const)("of one that is %s and reported %s makes one that is %s", ([before, healthy, after, answer]) =>
    Effect.gen(function* () {
      yield* TestClock.setTime(5_000)
      const connector = yield* made(before)
      assert.strictEqual(yield* (yield* ConnectorHealth).report(connector.id, healthy), answer)
      const updatedAt = before === after ? connector.updatedAt : new Date(5_000)
      assert.deepStrictEqual(yield* stored(connector.id), { ...connector, status: after, updatedAt })
    }).pipe(Effect.provide(layerMemory))
  )

  it.effect("does nothing about one that is gone", () =>
    Effect.gen(function* () {
      const health = yield* ConnectorHealth
      assert.isFalse(yield* health.report("conn_absent" as ConnectorId, true))
    }).pipe(Effect.provide(layerMemory))
  )

  it.effect("never fails, whatever the database does", () =>
    Effect.gen(function* () {
      const health = yield* ConnectorHealth
      assert.isFalse(yield* health.report("conn_1" as ConnectorId, true))
      assert.isFalse(yield* health.report("conn_2" as ConnectorId, false))
    }).pipe(
      Effect.provide(
        ConnectorReports.layer.pipe(
          Layer.provide(
            Layer.mock(ConnectorRepo, {
              find: (id) => (id === "conn_1" ? Effect.fail(unavailable) : Effect.die("a bug"))
            })
          ),
          Layer.provide(Repo.layerMemory),
          Layer.provide(Layer.mergeAll(Layer.succeed(Settings, Settings.defaults), Ids.layer))
        )
      )
    )
  )

  const exact = Effect.gen(function* () {
    const health = yield* ConnectorHealth
    const repo = yield* ConnectorRepo
    const workspaceId = yield* makeWorkspace
    const broken = yield* Effect.replicateEffect(makeConnector(workspaceId, { status: "ERROR" }), 20)
    const back = yield* Effect.forEach(broken, ({ id }) => health.report(id, true), {
      concurrency: "unbounded"
    })
    assert.strictEqual(back.filter((isActive) => isActive).length, 5)
    assert.strictEqual(yield* repo.countActive(workspaceId), 5)
    yield* (yield* WorkspaceRepo).setPlan(workspaceId, "pro", new Date())
    for (const { id } of broken) assert.isTrue(yield* health.report(id, true))
    assert.strictEqual(yield* repo.countActive(workspaceId), 20)
  })
  it.live("never makes more active than the plan allows, in memory", () => Effect.provide(exact, layerMemory))
  it.live("nor on the embedded database", () => Effect.provide(exact, layerEmbedded))
})

const unavailable = new Unavailable({ error: "no database" })
