import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { StoredConnector } from "../../../src/Schemas/Connector.ts"
import type { Shown } from "../../../src/Schemas/ConnectorHealth.ts"
import { ConnectorHealth } from "../../../src/Services/ConnectorHealth.ts"
import { ConnectorRepo } from "../../../src/Services/ConnectorRepo.ts"
import * as ConnectorReports from "../../../src/Services/ConnectorReports.ts"
import { WorkspaceRepo } from "../../../src/Services/WorkspaceRepo.ts"
import { makeConnector } from "../../contract/ConnectorRepo.ts"
import { makeWorkspace } from "../../support/Fixtures.ts"
import * as Postgres from "../../support/Postgres.ts"
import { makeNodes, whileDone } from "./RunNodes.ts"

const server = { serverName: "Docs", serverVersion: "1", protocolVersion: "2025-11-25" }
const works: Shown = { error: null, server }
const fails: Shown = { error: { code: "unreachable", message: "the server could not be reached" } }

const report = (connector: StoredConnector, shown: Shown) =>
  Effect.flatMap(ConnectorHealth, (health) => health.report(connector, shown)).pipe(
    Effect.provide(ConnectorReports.layer)
  )

/** As a change of `metadata` does it. */
const lead = (to: StoredConnector) =>
  Effect.gen(function* () {
    const connectors = yield* ConnectorRepo
    yield* (yield* WorkspaceRepo).lock(to.workspaceId)
    yield* connectors.update(to)
    yield* connectors.forgetHealth(to.id)
  })

const suite = () => {
  it.live.each([
    ["ACTIVE", "failed", fails],
    ["ACTIVE", "worked", works],
    ["ERROR", "worked", works],
    ["ERROR", "failed", fails]
  ] as const)(
    "one that is %s and is led elsewhere keeps nothing of the former server, which %s",
    ([status, , shown]) =>
      Effect.gen(function* () {
        const nodes = yield* makeNodes(2)
        const former = yield* nodes.on(
          0,
          Effect.flatMap(makeWorkspace, (workspaceId) => makeConnector(workspaceId, { status }))
        )
        const changed = { ...former, metadata: { url: "https://elsewhere.example.org/" } }
        const { late } = yield* whileDone(nodes, nodes.on(0, lead(changed)), report(former, shown))
        assert.strictEqual(late, shown.error === null && status === "ACTIVE")
        const connectors = yield* nodes.on(0, ConnectorRepo)
        assert.deepStrictEqual(Option.getOrThrow(yield* connectors.find(former.id)), changed)
        assert.isTrue(Option.isNone(yield* connectors.health(former.id)))
      })
  )
}

if (Postgres.hasPostgres) describe("Locks of connectors", suite)
else describe.skip(Postgres.skipped("Locks of connectors"), suite)
