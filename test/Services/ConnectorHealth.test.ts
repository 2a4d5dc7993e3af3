import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { TestClock } from "effect/testing"
import * as Repo from "../../src/Layers/Repo.ts"
import type { ConnectorStatus } from "../../src/Schemas/Connector.ts"
import { type Shown, unknownServer } from "../../src/Schemas/ConnectorHealth.ts"
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
import { makeTraces } from "../support/Traces.ts"

const layerMemory = ConnectorReports.layer.pipe(
  Layer.provideMerge(Repo.layerMemory),
  Layer.provideMerge(Layer.mergeAll(Layer.succeed(Settings, Settings.defaults), Ids.layer))
)

const layerEmbedded = ConnectorReports.layer.pipe(Layer.provideMerge(layerNode(EmbeddedCopy.layerClient)))

const stored = (id: ConnectorId) =>
  Effect.flatMap(ConnectorRepo, (repo) => Effect.map(repo.find(id), Option.getOrThrow))

const server = { serverName: "Docs", serverVersion: "1.2", protocolVersion: "2025-11-25" }
const works: Shown = { error: null, server }
const fails: Shown = { error: { code: "unreachable", message: "the server could not be reached" } }

const healthOf = (id: ConnectorId) =>
  Effect.flatMap(ConnectorRepo, (repo) => Effect.map(repo.health(id), Option.getOrUndefined))

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
      assert.strictEqual(yield* (yield* ConnectorHealth).report(connector, healthy ? works : fails), answer)
      const updatedAt = before === after ? connector.updatedAt : new Date(5_000)
      assert.deepStrictEqual(yield* stored(connector.id), { ...connector, status: after, updatedAt })
      assert.deepStrictEqual(
        yield* healthOf(connector.id),
        healthy
          ? { checkedAt: new Date(5_000), error: null, ...server }
          : { checkedAt: new Date(5_000), error: fails.error, ...unknownServer }
      )
    }).pipe(Effect.provide(layerMemory))
  )

  it.effect("makes no span: what it is reported from may be in no trace", () => {
    const { layer, made: spans } = makeTraces()
    return Effect.gen(function* () {
      const connector = yield* made("ACTIVE")
      const before = spans.length
      yield* (yield* ConnectorHealth).report(connector, fails)
      assert.lengthOf(spans.slice(before), 0)
    }).pipe(Effect.provide(layerMemory), Effect.provide(layer))
  })

  it.effect("does nothing about one that is gone", () =>
    Effect.gen(function* () {
      const health = yield* ConnectorHealth
      const connector = yield* made("ERROR")
      yield* (yield* ConnectorRepo).remove(connector.id)
      assert.isFalse(yield* health.report(connector, works))
      assert.isUndefined(yield* healthOf(connector.id))
    }).pipe(Effect.provide(layerMemory))
  )

  it.effect("does nothing about one that leads elsewhere by now", () =>
    Effect.gen(function* () {
      const health = yield* ConnectorHealth
      const repo = yield* ConnectorRepo
      const former = yield* made("ACTIVE")
      const changed = { ...former, metadata: { url: "https://elsewhere.example.org/" } }
      yield* repo.update(changed)
      assert.isFalse(yield* health.report(former, fails))
      assert.isTrue(yield* health.report(former, works))
      yield* repo.update({ ...former, sealedCredential: "another" })
      assert.isFalse(yield* health.report(former, fails))
      assert.strictEqual((yield* stored(former.id)).status, "ACTIVE")
      assert.isUndefined(yield* healthOf(former.id))
    }).pipe(Effect.provide(layerMemory))
  )

  it.effect.each([
    ["ACTIVE", fails],
    ["ACTIVE", works],
    ["ERROR", works],
    ["ERROR", fails]
  ] as const)(
    "does nothing about one that is %s and led elsewhere while it waits for its lock",
    ([status, shown]) => {
      const changes: Array<Effect.Effect<unknown, Unavailable>> = []
      const layer = ConnectorReports.layer.pipe(
        Layer.provideMerge(
          Layer.effect(
            WorkspaceRepo,
            Effect.map(WorkspaceRepo, (repo) => ({
              ...repo,
              lock: (id) =>
                Effect.andThen(
                  Effect.suspend(() => changes.shift() ?? Effect.void),
                  repo.lock(id)
                )
            }))
          )
        ),
        Layer.provideMerge(Repo.layerMemory),
        Layer.provideMerge(Layer.mergeAll(Layer.succeed(Settings, Settings.defaults), Ids.layer))
      )
      return Effect.gen(function* () {
        const repo = yield* ConnectorRepo
        const former = yield* made(status)
        const changed = { ...former, metadata: { url: "https://elsewhere.example.org/" } }
        changes.push(repo.update(changed))
        const answer = yield* (yield* ConnectorHealth).report(former, shown)
        assert.strictEqual(answer, shown.error === null && status === "ACTIVE")
        assert.deepStrictEqual([changes.length, yield* stored(former.id)], [0, changed])
        assert.isUndefined(yield* healthOf(former.id))
      }).pipe(Effect.provide(layer))
    }
  )

  it.effect("keeps the same once in 30 s, what is new or asked for at once", () =>
    Effect.gen(function* () {
      const health = yield* ConnectorHealth
      const connector = yield* made("ACTIVE")
      const seen = Effect.fnUntraced(function* (shown: Shown, options?: { readonly isAsked: boolean }) {
        yield* TestClock.adjust("1 second")
        yield* health.report(yield* stored(connector.id), shown, options)
        const kept = yield* healthOf(connector.id)
        return [kept?.checkedAt.getTime(), kept?.error?.code ?? null, kept?.serverName]
      })
      assert.deepStrictEqual(yield* seen(works), [1_000, null, "Docs"])
      assert.deepStrictEqual(yield* seen(works), [1_000, null, "Docs"])
      assert.deepStrictEqual(yield* seen(works, { isAsked: true }), [3_000, null, "Docs"])
      assert.deepStrictEqual(yield* seen(fails), [4_000, "unreachable", "Docs"])
      // It has another status now, and is told of anew.
      assert.deepStrictEqual(yield* seen(fails), [5_000, "unreachable", "Docs"])
      assert.deepStrictEqual(yield* seen(fails), [5_000, "unreachable", "Docs"])
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(yield* seen(fails), [37_000, "unreachable", "Docs"])
      const refused: Shown = { error: { code: "unauthorized", message: "no" } }
      assert.deepStrictEqual(yield* seen(refused), [38_000, "unauthorized", "Docs"])
      assert.deepStrictEqual(yield* seen(works), [39_000, null, "Docs"])
    }).pipe(Effect.provide(layerMemory))
  )

  it.effect("keeps the same once also for who still has it as it was", () =>
    Effect.gen(function* () {
      const health = yield* ConnectorHealth
      const asItWas = yield* made("ACTIVE")
      yield* health.report(asItWas, fails)
      yield* TestClock.adjust("1 second")
      assert.isFalse(yield* health.report(asItWas, fails))
      assert.deepStrictEqual((yield* healthOf(asItWas.id))?.checkedAt, new Date(0))
    }).pipe(Effect.provide(layerMemory))
  )

  it.effect("keeps the same again what could not be kept", () => {
    const outages = [Effect.fail(unavailable), Effect.die("a bug")]
    const flaky = Layer.effect(
      ConnectorRepo,
      Effect.map(ConnectorRepo, (repo) => ({
        ...repo,
        keepHealth: (...given: Parameters<typeof repo.keepHealth>) =>
          Effect.suspend(() => outages.pop() ?? repo.keepHealth(...given))
      }))
    ).pipe(Layer.provideMerge(Repo.layerMemory))
    return Effect.gen(function* () {
      const health = yield* ConnectorHealth
      const connector = yield* made("ACTIVE")
      for (const _ of ["failed", "died"]) {
        yield* health.report(connector, works)
        assert.isUndefined(yield* healthOf(connector.id))
      }
      yield* health.report(connector, works)
      assert.strictEqual((yield* healthOf(connector.id))?.serverName, "Docs")
    }).pipe(
      Effect.provide(
        ConnectorReports.layer.pipe(
          Layer.provideMerge(flaky),
          Layer.provideMerge(Layer.mergeAll(Layer.succeed(Settings, Settings.defaults), Ids.layer))
        )
      )
    )
  })

  it.effect("asks the database nothing where there is nothing to keep", () => {
    let asked = 0
    const counted = Layer.effect(
      ConnectorRepo,
      Effect.map(ConnectorRepo, (repo) => ({
        ...repo,
        find: (id: ConnectorId) =>
          Effect.suspend(() => {
            asked++
            return repo.find(id)
          })
      }))
    ).pipe(Layer.provideMerge(Repo.layerMemory))
    return Effect.gen(function* () {
      const health = yield* ConnectorHealth
      const connector = yield* made("ACTIVE")
      for (const _ of ["first", "again"]) assert.isTrue(yield* health.report(connector, works))
      assert.strictEqual(asked, 1)
    }).pipe(
      Effect.provide(
        ConnectorReports.layer.pipe(
          Layer.provideMerge(counted),
          Layer.provideMerge(Layer.mergeAll(Layer.succeed(Settings, Settings.defaults), Ids.layer))
        )
      )
    )
  })

  it.effect("says of one that works why it is not ACTIVE, if the plan has no room", () =>
    Effect.gen(function* () {
      const health = yield* ConnectorHealth
      const broken = yield* made("ERROR")
      yield* Effect.replicateEffect(makeConnector(broken.workspaceId), 5)
      assert.isFalse(yield* health.report(broken, works))
      assert.strictEqual((yield* healthOf(broken.id))?.error?.code, "plan_limit")
      assert.strictEqual((yield* stored(broken.id)).status, "ERROR")
    }).pipe(Effect.provide(layerMemory))
  )

  it.effect("never fails, whatever the database does", () =>
    Effect.gen(function* () {
      const health = yield* ConnectorHealth
      const connector = yield* made("ERROR")
      assert.isFalse(yield* health.report({ ...connector, id: "conn_1" as ConnectorId }, works))
      assert.isFalse(
        yield* health.report({ ...connector, id: "conn_2" as ConnectorId }, fails, { isAsked: true })
      )
    }).pipe(
      Effect.provide(
        ConnectorReports.layer.pipe(
          Layer.provideMerge(
            Layer.mock(ConnectorRepo, {
              insert: () => Effect.void,
              find: (id) => (id === "conn_1" ? Effect.fail(unavailable) : Effect.die("a bug"))
            })
          ),
          Layer.provideMerge(Repo.layerMemory),
          Layer.provideMerge(Layer.mergeAll(Layer.succeed(Settings, Settings.defaults), Ids.layer))
        )
      )
    )
  )

  const exact = Effect.gen(function* () {
    const health = yield* ConnectorHealth
    const repo = yield* ConnectorRepo
    const workspaceId = yield* makeWorkspace
    const broken = yield* Effect.replicateEffect(makeConnector(workspaceId, { status: "ERROR" }), 20)
    const back = yield* Effect.forEach(broken, (connector) => health.report(connector, works), {
      concurrency: "unbounded"
    })
    assert.strictEqual(back.filter((isActive) => isActive).length, 5)
    assert.strictEqual(yield* repo.countActive(workspaceId), 5)
    yield* (yield* WorkspaceRepo).setPlan(workspaceId, "pro", new Date())
    for (const connector of broken) assert.isTrue(yield* health.report(connector, works))
    assert.strictEqual(yield* repo.countActive(workspaceId), 20)
  })
  it.live("never makes more active than the plan allows, in memory", () => Effect.provide(exact, layerMemory))
  it.live("nor on the embedded database", () => Effect.provide(exact, layerEmbedded))
})

const unavailable = new Unavailable({ error: "no database" })
