import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { ToolSource } from "../../../src/Services/ToolSource.ts"
import { answering, check, connect, layer } from "../../support/Connected.ts"
import { freePort, listedTool, startScripted } from "../../support/Mcp.ts"

describe("What is wrong with a connector", () => {
  it.effect.each([
    ["nobody listens", Effect.map(freePort, (port) => `http://127.0.0.1:${port}/mcp`), "unreachable"],
    ["the guard refuses it", Effect.succeed("http://refused.test/mcp"), "address_not_allowed"],
    ["it is away", Effect.map(answering(503), ({ url }) => url), "unreachable"],
    ["there is nothing", Effect.map(answering(404), ({ url }) => url), "not_mcp"],
    [
      "there is a page",
      Effect.map(answering(200, "<html>hello</html>", "text/html"), ({ url }) => url),
      "not_mcp"
    ],
    [
      "there is other JSON",
      Effect.map(answering(200, "{}", "application/json"), ({ url }) => url),
      "not_mcp"
    ],
    ["it takes no POST", Effect.map(answering(405, "no"), ({ url }) => url), "not_mcp"],
    ["it lets nobody in", Effect.map(answering(401), ({ url }) => url), "unauthorized"],
    ["it may not be done", Effect.map(answering(403), ({ url }) => url), "unauthorized"],
    ["it breaks", Effect.map(answering(500, "canary-credential"), ({ url }) => url), "bad_answer"],
    ["it is no address", Effect.succeed("ftp://example.org/"), "misconfigured"]
  ] as const)("says why it can't be used: %s", ([, address, code]) =>
    Effect.gen(function* () {
      const connector = yield* connect(yield* address, { credential: "canary-credential" })
      const found = yield* check(connector)
      assert.deepStrictEqual([found.status, found.error?.code], ["ERROR", code], found.error?.message)
      assert.notInclude(found.error?.message ?? "", "canary")
      assert.isAbove(found.error?.message.length ?? 0, 10)
      assert.deepStrictEqual(yield* (yield* ToolSource).ofConnector(connector), [])
    }).pipe(Effect.provide(layer))
  )

  it.effect("says so of one whose secret can't be opened", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* startScripted({})
      const connector = yield* connect(url, { hasCredential: true, sealedCredential: "another's" })
      const { error, status } = yield* check(connector)
      assert.deepStrictEqual([status, error?.code], ["ERROR", "secret_unreadable"])
      assert.deepStrictEqual(asked, [])
    }).pipe(Effect.provide(layer))
  )

  it.effect("shows no secret that a server says back of itself, nor too much", () =>
    Effect.gen(function* () {
      const info = { name: `I know canary-credential ${"x".repeat(10_000)}`, version: "canary-credential" }
      const { url } = yield* startScripted({
        tools: [listedTool("a")],
        answer: ({ method }) =>
          method === "initialize"
            ? { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: info }
            : undefined
      })
      const found = yield* check(yield* connect(url, { credential: "canary-credential" }))
      assert.deepStrictEqual([found.status, found.serverVersion], ["ACTIVE", "[hidden]"])
      assert.match(found.serverName ?? "", /^I know \[hidden\] x+/u)
      assert.isAtMost(found.serverName?.length ?? 0, 200)
    }).pipe(Effect.provide(layer))
  )
})
