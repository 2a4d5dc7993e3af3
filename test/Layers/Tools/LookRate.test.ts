import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { TestClock } from "effect/testing"
import type { StoredConnector } from "../../../src/Schemas/Connector.ts"
import { ConnectorRepo } from "../../../src/Services/ConnectorRepo.ts"
import { ToolSource } from "../../../src/Services/ToolSource.ts"
import { connect, layer } from "../../support/Connected.ts"
import { handled, startScripted } from "../../support/Mcp.ts"

/** A server that can't be used, and how often somebody has come to it. */
const startBroken = Effect.gen(function* () {
  let visits = 0
  const { url } = yield* startScripted({
    answer: ({ response }) => {
      visits++
      response.writeHead(403).end()
      return handled
    }
  })
  return { url, visits: () => visits }
})

const check = (connector: StoredConnector) => Effect.result(ToolSource.use((tools) => tools.check(connector)))

const isOver = Result.isFailure

describe("checks of a connector", () => {
  it.effect("are 12 at once, and then one every 5 s", () =>
    Effect.gen(function* () {
      const { url, visits } = yield* startBroken
      const connector = yield* connect(url)
      const other = yield* connect(url, { workspaceId: connector.workspaceId })
      for (let i = 0; i < 12; i++) assert.isFalse(isOver(yield* check(connector)))
      const before = visits()
      const over = yield* check(connector)
      assert.deepInclude(isOver(over) ? over.failure : {}, {
        _tag: "RateLimited",
        error: "too many checks of this connector: there may be 12 in a minute; try again in 5 s",
        retryAfter: 5
      })
      assert.strictEqual(visits(), before)
      assert.isFalse(isOver(yield* check(other)))
      yield* TestClock.adjust("5 seconds")
      assert.isFalse(isOver(yield* check(connector)))
      assert.isTrue(isOver(yield* check(connector)))
    }).pipe(Effect.provide(layer))
  )

  it.effect("that come while one is made count as that one", () =>
    Effect.gen(function* () {
      const { url } = yield* startBroken
      const connector = yield* connect(url)
      const all = yield* Effect.all(
        Array.from({ length: 2000 }, () => check(connector)),
        { concurrency: "unbounded" }
      )
      assert.isFalse(all.some(isOver))
      for (let i = 0; i < 11; i++) assert.isFalse(isOver(yield* check(connector)))
      assert.isTrue(isOver(yield* check(connector)))
    }).pipe(Effect.provide(layer))
  )

  it.effect("count with lists of the tools of one in ERROR, for which its server is asked each time", () =>
    Effect.gen(function* () {
      const { url } = yield* startBroken
      const connector = yield* connect(url)
      const repo = yield* ConnectorRepo
      const list = (of: StoredConnector) => Effect.result(ToolSource.use((tools) => tools.ofConnector(of)))
      for (let i = 0; i < 20; i++) assert.isFalse(isOver(yield* list(connector)))
      const inError = { ...connector, status: "ERROR" as const }
      yield* repo.update(inError)
      for (let i = 0; i < 12; i++) assert.isFalse(isOver(yield* list(inError)))
      assert.isTrue(isOver(yield* list(inError)))
      assert.isTrue(isOver(yield* check(inError)))
    }).pipe(Effect.provide(layer))
  )
})
