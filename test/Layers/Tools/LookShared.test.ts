import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import { ToolSource } from "../../../src/Services/ToolSource.ts"
import { check, connect, layer } from "../../support/Connected.ts"
import { handled, listedTool, startScripted } from "../../support/Mcp.ts"
import { eventually } from "../../support/Until.ts"

describe("A look at a connector, for all who ask", () => {
  it.effect("asks at most once a minute, a check each time", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* startScripted({ tools: [listedTool("a")] })
      const connector = yield* connect(url)
      const source = yield* ToolSource
      const lists = () => asked.filter((method) => method === "tools/list").length
      yield* source.ofConnector(connector)
      yield* source.ofConnector(connector)
      assert.strictEqual(lists(), 1)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual((yield* check(connector)).checkedAt, new Date(5_000))
      yield* check(connector)
      assert.strictEqual(lists(), 3)
    }).pipe(Effect.provide(layer))
  )

  it.effect("asks once for all who check meanwhile", () =>
    Effect.gen(function* () {
      let letGo: (() => void) | undefined
      const { asked, url } = yield* startScripted({
        answer: ({ id, method, response }) => {
          if (method !== "tools/list" || letGo !== undefined) return undefined
          letGo = () => {
            response.writeHead(200, { "content-type": "application/json" })
            response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { tools: [] } }))
          }
          return handled
        }
      })
      const connector = yield* connect(url)
      const asking = yield* Effect.replicateEffect(Effect.forkChild(check(connector)), 5)
      yield* eventually(
        Effect.sync(() => letGo !== undefined),
        "it was asked"
      )
      letGo?.()
      for (const fiber of asking) assert.strictEqual((yield* Fiber.join(fiber)).status, "ACTIVE")
      assert.lengthOf(
        asked.filter((method) => method === "tools/list"),
        1
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("goes on when who asked first leaves, and ends", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* startScripted({ answer: () => handled })
      const connector = yield* connect(url)
      const asking = yield* Effect.replicateEffect(Effect.forkChild(check(connector)), 5)
      yield* eventually(
        Effect.sync(() => asked.length > 0),
        "it was asked"
      )
      for (const fiber of asking.slice(0, 2)) yield* Fiber.interrupt(fiber)
      const late = yield* Effect.forkChild(check(connector))
      yield* TestClock.adjust("10 seconds")
      for (const fiber of [...asking.slice(2), late]) {
        const { checkedAt, error, status } = yield* Fiber.join(fiber)
        assert.deepStrictEqual(
          { status, checkedAt, error },
          {
            status: "ERROR",
            checkedAt: new Date(10_000),
            error: { code: "timeout", message: "the server did not answer within 10 s" }
          }
        )
      }
      assert.lengthOf(asked, 1)
    }).pipe(Effect.provide(layer))
  )
})
