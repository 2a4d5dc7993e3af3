import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import type { StoredConnector } from "../../../src/Schemas/Connector.ts"
import { Unavailable } from "../../../src/Schemas/Errors.ts"
import type { WorkspaceId } from "../../../src/Schemas/Ids.ts"
import { ToolSource } from "../../../src/Services/ToolSource.ts"
import { check, connect, health, layer } from "../../support/Connected.ts"
import { makeWorkspace } from "../../support/Fixtures.ts"
import { handled, startScripted } from "../../support/Mcp.ts"
import { eventually } from "../../support/Until.ts"

/** A server that takes connections and never answers, and connectors that lead to it. */
const startHole = Effect.gen(function* () {
  const { asked, url } = yield* startScripted({ answer: () => handled })
  return {
    asked,
    untilAsked: (times: number) =>
      eventually(
        Effect.sync(() => asked.length === times),
        `it was asked ${times} times`
      ),
    connectors: (workspaceId: WorkspaceId, count: number) =>
      Effect.replicateEffect(connect(url, { workspaceId }), count)
  }
})

const checking = (connectors: ReadonlyArray<StoredConnector>) =>
  Effect.forEach(connectors, (connector) => Effect.forkChild(check(connector)))

const timedOut = { code: "timeout", message: "the server did not answer within 10 s" } as const

describe("The places of looks at connectors", () => {
  it.effect("are not taken by one workspace from the others", () =>
    Effect.gen(function* () {
      const hole = yield* startHole
      yield* checking(yield* hole.connectors(yield* makeWorkspace, 16))
      yield* hole.untilAsked(2)
      const works = yield* connect((yield* startScripted({})).url)
      // No time passes: it waits for none of them.
      assert.strictEqual((yield* check(works)).status, "ACTIVE")
      assert.deepStrictEqual(yield* (yield* ToolSource).ofConnector(works), [])
      assert.lengthOf(hole.asked, 2)
    }).pipe(Effect.provide(layer))
  )

  it.effect("are 16 for all together", () =>
    Effect.gen(function* () {
      const hole = yield* startHole
      for (let n = 0; n < 9; n++) yield* checking(yield* hole.connectors(yield* makeWorkspace, 2))
      yield* hole.untilAsked(16)
      yield* TestClock.adjust("9 seconds")
      assert.lengthOf(hole.asked, 16)
      yield* TestClock.adjust("1 second")
      yield* hole.untilAsked(18)
    }).pipe(Effect.provide(layer))
  )

  it.effect("are waited for 30 s, which is no part of how long the server may take", () =>
    Effect.gen(function* () {
      const hole = yield* startHole
      const workspaceId = yield* makeWorkspace
      yield* checking(yield* hole.connectors(workspaceId, 2))
      yield* hole.untilAsked(2)
      yield* TestClock.adjust("5 seconds")
      const later = yield* hole.connectors(workspaceId, 8)
      const fibers = yield* checking(later)
      for (const [seconds, times] of [
        [5, 4],
        [10, 6],
        [10, 8]
      ] as const) {
        yield* TestClock.adjust(`${seconds} seconds`)
        yield* hole.untilAsked(times)
      }
      yield* TestClock.adjust("5 seconds")
      for (const fiber of fibers.slice(6)) {
        const refused = yield* Effect.flip(Fiber.join(fiber))
        assert.deepStrictEqual(refused, new Unavailable({ error: "too many connectors are looked at" }))
      }
      yield* TestClock.adjust("5 seconds")
      for (const fiber of fibers.slice(4, 6)) {
        const { checkedAt, error, status } = yield* Fiber.join(fiber)
        assert.deepStrictEqual(
          { status, checkedAt, error },
          { status: "ERROR", checkedAt: new Date(40_000), error: timedOut }
        )
      }
      // Nothing is said of one that nobody has asked.
      for (const connector of later.slice(6)) {
        assert.deepInclude(yield* health(connector), { status: "ACTIVE", checkedAt: null })
      }
    }).pipe(Effect.provide(layer))
  )
})
