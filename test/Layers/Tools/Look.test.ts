import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { ConnectorRepo } from "../../../src/Services/ConnectorRepo.ts"
import { ToolSource } from "../../../src/Services/ToolSource.ts"
import { check, connect, health, layer, shownIn } from "../../support/Connected.ts"
import { handled, listedTool, startScripted } from "../../support/Mcp.ts"

describe("A look at a connector", () => {
  it.effect("shows its tools by the names that a model knows, and what they may do as autonomy has it", () =>
    Effect.gen(function* () {
      const inputSchema = { type: "object", required: ["q"], properties: { q: { type: "string" } } }
      const all = [
        listedTool("find.it", { inputSchema, annotations: { readOnlyHint: true } }),
        listedTool("drop", { annotations: { readOnlyHint: true, destructiveHint: true } }),
        listedTool("plain", { description: undefined, title: "Plain" })
      ]
      const server = yield* startScripted({ tools: all })
      const rival = yield* startScripted({ tools: [listedTool("plain")] })
      const other = yield* startScripted({ tools: [listedTool("plain")] })
      const first = yield* connect(rival.url)
      const { workspaceId } = first
      yield* connect(other.url, { workspaceId, providerName: "other" })
      const connector = yield* connect(server.url, { workspaceId })
      const tools = yield* (yield* ToolSource).ofConnector(connector)
      assert.deepStrictEqual(other.asked, [], "it can't be called alike, and was asked")
      assert.deepStrictEqual(
        tools.map(({ destructive, originalName, readOnly }) => ({ originalName, readOnly, destructive })),
        [
          { originalName: "find.it", readOnly: true, destructive: false },
          { originalName: "drop", readOnly: false, destructive: true },
          { originalName: "plain", readOnly: false, destructive: false }
        ]
      )
      assert.deepStrictEqual(
        [tools[0]?.name, tools[0]?.description, tools[0]?.inputSchema, tools[2]?.description],
        ["docs__find_it", "does find.it", inputSchema, "Plain"]
      )
      const shown = (yield* shownIn(workspaceId)).map(({ name }) => name)
      for (const { name } of tools) assert.include(shown, name)
      assert.match(tools[2]?.name ?? "", /^docs__plain_[0-9a-f]{8}$/u)
      const info = { serverName: "scripted", serverVersion: "1", protocolVersion: "2025-11-25" }
      const seen = { status: "ACTIVE", checkedAt: new Date(0), error: null, ...info } as const
      assert.deepStrictEqual(yield* health(connector), seen)
      assert.deepStrictEqual(yield* health(first), seen)
    }).pipe(Effect.provide(layer))
  )

  it.effect("switches nothing on, and shows what one brings that is switched off", () =>
    Effect.gen(function* () {
      const { url } = yield* startScripted({ tools: [listedTool("a")] })
      const connector = yield* connect(url, { status: "INACTIVE" })
      const found = yield* check(connector)
      assert.deepStrictEqual([found.status, found.error, found.serverName], ["INACTIVE", null, "scripted"])
      const [tool] = yield* (yield* ToolSource).ofConnector(connector)
      assert.strictEqual(tool?.name, "docs__a")
      assert.deepStrictEqual(yield* shownIn(connector.workspaceId), [])
    }).pipe(Effect.provide(layer))
  )

  it.effect("asks nobody of one that brings no tools, and leaves it as it is", () =>
    Effect.gen(function* () {
      const connector = yield* connect("http://refused.test/", { type: "oauth", providerId: "unheard-of" })
      const found = yield* check(connector)
      assert.deepStrictEqual([found.status, found.checkedAt, found.error], ["ACTIVE", null, null])
      assert.deepStrictEqual(yield* (yield* ToolSource).ofConnector(connector), [])
    }).pipe(Effect.provide(layer))
  )

  it.effect("brings one back that works again, for the next message at once", () =>
    Effect.gen(function* () {
      let isUp = false
      const { url } = yield* startScripted({
        tools: [listedTool("a")],
        answer: ({ response }) => {
          if (isUp) return undefined
          response.writeHead(503).end()
          return handled
        }
      })
      const connector = yield* connect(url)
      const { workspaceId } = connector
      assert.deepStrictEqual(yield* shownIn(workspaceId), [])
      assert.deepInclude(yield* health(connector), {
        status: "ERROR",
        error: { code: "unreachable", message: "the server is not available (HTTP 503)" }
      })
      isUp = true
      assert.deepStrictEqual(yield* shownIn(workspaceId), [])
      const stored = Option.getOrThrow(yield* (yield* ConnectorRepo).find(connector.id))
      assert.deepInclude(yield* check(stored), { status: "ACTIVE", error: null })
      assert.lengthOf(yield* shownIn(workspaceId), 1)
    }).pipe(Effect.provide(layer))
  )
})
