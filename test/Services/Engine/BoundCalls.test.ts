import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { StoredConnector } from "../../../src/Schemas/Connector.ts"
import { ConnectorRepo } from "../../../src/Services/ConnectorRepo.ts"
import { Lifecycle } from "../../../src/Services/Lifecycle.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import {
  change,
  docsAt,
  isOver,
  isWaiting,
  secondsUntilOver,
  startWriter,
  untilRun,
  writing
} from "../../support/BoundCalls.ts"
import { startNode } from "../../support/Engine.ts"
import { freePort, listedTool, startScripted } from "../../support/Mcp.ts"
import { layerScripted } from "../../support/Service.ts"
import { eventually } from "../../support/Until.ts"

const layer = layerScripted({ allowPrivateAddresses: true, toolWaitMillis: 20_000 })

/** What becomes of the connector whose tool the model called, between the call and its execution. */
const fates: ReadonlyArray<
  readonly [
    string,
    (connector: StoredConnector, stop: Effect.Effect<void>) => Effect.Effect<unknown, unknown, ConnectorRepo>
  ]
> = [
  ["was deleted", ({ id }) => Effect.flatMap(ConnectorRepo, (repo) => repo.remove(id))],
  ["was switched off", (connector) => change(connector, { status: "INACTIVE" })],
  [
    "leads to another address",
    (connector) =>
      Effect.flatMap(freePort, (port) =>
        change(connector, { metadata: { url: `http://127.0.0.1:${port}/mcp` } })
      )
  ],
  ["can't be reached", (_, stop) => stop]
]

describe("A call is made on the tool that the model was shown, or not at all", () => {
  it.effect.each(fates)("approved, and its connector %s: another of its name is not called", ([, fate]) =>
    Effect.gen(function* () {
      const [first, second] = [yield* startWriter(), yield* startWriter()]
      const { approve, user, workspaceId } = yield* writing()
      const one = yield* docsAt(workspaceId, first.url)
      yield* docsAt(workspaceId, second.url, 1)
      const node = yield* startNode("a")
      const { id } = yield* (yield* Runs).create(user, { workspaceId, prompt: "work" })
      yield* untilRun(id, isWaiting)
      yield* node.stop
      yield* fate(one, first.stop)
      yield* startNode("b")
      yield* approve
      const { run } = yield* secondsUntilOver(id)
      assert.strictEqual(second.calls(), 0)
      assert.strictEqual(first.calls(), 0)
      assert.deepInclude(run, { status: "FAILED", errorCode: "tool_unavailable" })
    }).pipe(Effect.provide(layer))
  )

  it.effect.each(fates)(
    "approved, and its only connector %s: the run never ends as if it were done",
    ([, fate]) =>
      Effect.gen(function* () {
        const first = yield* startWriter()
        const { approve, user, workspaceId } = yield* writing()
        const one = yield* docsAt(workspaceId, first.url)
        yield* startNode("a")
        const { id } = yield* (yield* Runs).create(user, { workspaceId, prompt: "work" })
        yield* untilRun(id, isWaiting)
        yield* fate(one, first.stop)
        yield* approve
        const { run } = yield* secondsUntilOver(id)
        assert.deepInclude(run, { status: "FAILED", errorCode: "tool_unavailable" })
        assert.match(run.error ?? "", /"write".*"docs"/)
      }).pipe(Effect.provide(layer))
  )

  it.effect.each(fates)("in flight when its node was lost, and its connector %s", ([, fate]) =>
    Effect.gen(function* () {
      const [first, second] = [yield* startWriter({ holds: true }), yield* startWriter()]
      const { user, workspaceId } = yield* writing()
      const one = yield* docsAt(workspaceId, first.url)
      yield* docsAt(workspaceId, second.url, 1)
      const node = yield* startNode("a")
      const { id } = yield* (yield* Runs).create(user, {
        workspaceId,
        prompt: "work",
        autonomyLevel: "autonomous"
      })
      yield* eventually(
        Effect.sync(() => first.calls() === 1),
        "it was called"
      )
      yield* node.stop
      yield* fate(one, first.stop)
      yield* startNode("b")
      const { run } = yield* secondsUntilOver(id)
      assert.strictEqual(second.calls(), 0)
      assert.deepInclude(run, { status: "FAILED", errorCode: "tool_unavailable" })
    }).pipe(Effect.provide(layer))
  )

  it.effect("approved, and its connector is there: it is made once, on this one", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* startWriter(), yield* startWriter()]
      const { approve, user, workspaceId } = yield* writing()
      yield* docsAt(workspaceId, first.url)
      yield* docsAt(workspaceId, second.url, 1)
      yield* startNode("a")
      const { id } = yield* (yield* Runs).create(user, { workspaceId, prompt: "work" })
      yield* untilRun(id, isWaiting)
      yield* approve
      assert.strictEqual((yield* untilRun(id, isOver)).status, "COMPLETED")
      assert.deepStrictEqual([first.calls(), second.calls()], [1, 0])
    }).pipe(Effect.provide(layer))
  )

  it.effect(
    "approved, and waiting for its connector when its node stops: another makes it when that is back",
    () =>
      Effect.gen(function* () {
        const [first, second] = [yield* startWriter(), yield* startWriter()]
        const { approve, results, user, workspaceId } = yield* writing()
        const { id: connector } = yield* docsAt(workspaceId, first.url)
        yield* docsAt(workspaceId, second.url, 1)
        const node = yield* startNode("a")
        const { id } = yield* (yield* Runs).create(user, { workspaceId, prompt: "work" })
        yield* untilRun(id, isWaiting)
        yield* first.stop
        yield* approve
        const repo = yield* ConnectorRepo
        yield* eventually(
          Effect.map(repo.find(connector), (found) => Option.getOrThrow(found).status === "ERROR"),
          "it was looked for"
        )
        yield* (yield* Lifecycle).startDraining
        yield* node.stop
        assert.deepInclude(yield* untilRun(id, ({ status }) => status !== "RUNNING"), { status: "PENDING" })
        const again = yield* startScripted({
          tools: [listedTool("write", { description: "writes" })],
          port: first.port
        })
        yield* startNode("b")
        assert.strictEqual((yield* untilRun(id, isOver)).status, "COMPLETED")
        assert.strictEqual(again.asked.filter((method) => method === "tools/call").length, 1)
        assert.deepInclude(results()[0], { result: "write done", isError: false })
        assert.strictEqual(second.calls(), 0)
      }).pipe(Effect.provide(layer))
  )

  it.effect("a task that names no connectors goes on with those that are there, and says nothing", () =>
    Effect.gen(function* () {
      const [down, up] = [yield* startWriter(), yield* startWriter()]
      const { model, user, workspaceId } = yield* writing()
      yield* docsAt(workspaceId, down.url)
      yield* docsAt(workspaceId, up.url, 1)
      yield* down.stop
      yield* startNode("a")
      const runs = yield* Runs
      const { id } = yield* runs.create(user, { workspaceId, prompt: "work", autonomyLevel: "autonomous" })
      assert.strictEqual((yield* untilRun(id, isOver)).status, "COMPLETED")
      assert.strictEqual(up.calls(), 1)
      assert.isNull(model.requests[0]?.system)
    }).pipe(Effect.provide(layer))
  )

  it.effect("a task that names connectors does not begin without their tools", () =>
    Effect.gen(function* () {
      const first = yield* startWriter()
      const { model, user, workspaceId } = yield* writing()
      const { id: connector } = yield* docsAt(workspaceId, first.url)
      yield* first.stop
      yield* startNode("a")
      const { id } = yield* (yield* Runs).create(user, {
        workspaceId,
        prompt: "work",
        connectorIds: [connector]
      })
      const { run } = yield* secondsUntilOver(id)
      assert.deepInclude(run, { status: "FAILED", errorCode: "tool_unavailable" })
      assert.strictEqual(model.requests.length, 0)
    }).pipe(Effect.provide(layer))
  )
})
