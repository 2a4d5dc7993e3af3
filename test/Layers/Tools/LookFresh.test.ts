import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { TestClock } from "effect/testing"
import type { StoredConnector } from "../../../src/Schemas/Connector.ts"
import { unknownServer } from "../../../src/Schemas/ConnectorHealth.ts"
import { ConnectorRepo } from "../../../src/Services/ConnectorRepo.ts"
import { ToolSource } from "../../../src/Services/ToolSource.ts"
import { connect, health, layer, shownIn } from "../../support/Connected.ts"
import { handled, listedTool, startScripted } from "../../support/Mcp.ts"

const error = { code: "unreachable", message: "seen by another node" } as const

/** How tools are asked for where a list that is known will do. */
const ways = [
  ["a run", ({ workspaceId }: StoredConnector) => shownIn(workspaceId)],
  ["a look", (connector: StoredConnector) => ToolSource.use((tools) => tools.ofConnector(connector))]
] as const

const startSwitched = Effect.gen(function* () {
  const state = { isUp: true }
  const { asked, url } = yield* startScripted({
    tools: [listedTool("a")],
    answer: ({ response }) => {
      if (state.isUp) return undefined
      response.writeHead(503).end()
      return handled
    }
  })
  return { state, url, lists: () => asked.filter((method) => method === "tools/list").length }
})

const seenElsewhere = Effect.fnUntraced(function* (connector: StoredConnector) {
  const repo = yield* ConnectorRepo
  yield* repo.update({ ...connector, status: "ERROR" })
  yield* repo.keepHealth(connector.id, { checkedAt: new Date(0), error, ...unknownServer })
  return Option.getOrThrow(yield* repo.find(connector.id))
})

describe("A list of tools that is known", () => {
  it.effect.each(ways)("is not taken for a sight of its server by %s", ([, ask]) =>
    Effect.gen(function* () {
      const { lists, url } = yield* startSwitched
      const connector = yield* connect(url)
      const checkedAt = Effect.map(health(connector), (shown) => shown.checkedAt?.getTime())
      assert.lengthOf(yield* ask(connector), 1)
      assert.deepStrictEqual([lists(), yield* checkedAt], [1, 0])
      yield* TestClock.adjust("31 seconds")
      assert.lengthOf(yield* ask(connector), 1)
      assert.deepStrictEqual([lists(), yield* checkedAt], [1, 0])
      yield* TestClock.adjust("30 seconds")
      assert.lengthOf(yield* ask(connector), 1)
      assert.deepStrictEqual([lists(), yield* checkedAt], [2, 61_000])
    }).pipe(Effect.provide(layer))
  )

  it.effect.each(ways)("brings none back that another node could not reach, in %s", ([, ask]) =>
    Effect.gen(function* () {
      const { state, url } = yield* startSwitched
      const connector = yield* connect(url)
      assert.lengthOf(yield* ask(connector), 1)
      state.isUp = false
      const broken = yield* seenElsewhere(connector)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* ask(broken), [])
      const found = yield* health(connector)
      assert.deepStrictEqual([found.status, found.error?.code], ["ERROR", "unreachable"])
    }).pipe(Effect.provide(layer))
  )

  it.effect.each(ways)("is asked for anew of one in ERROR, which is back with it, by %s", ([, ask]) =>
    Effect.gen(function* () {
      const { lists, url } = yield* startSwitched
      const connector = yield* connect(url)
      yield* ask(connector)
      assert.lengthOf(yield* ask(yield* seenElsewhere(connector)), 1)
      assert.strictEqual(lists(), 2)
      assert.deepInclude(yield* health(connector), { status: "ACTIVE", error: null })
    }).pipe(Effect.provide(layer))
  )
})
