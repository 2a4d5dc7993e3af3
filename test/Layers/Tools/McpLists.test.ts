import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freePort, listedTool, startHttp, startScripted } from "../../support/Mcp.ts"
import { failure, makeClients, serverAt, using } from "../../support/McpClients.ts"

describe("connections and lists of MCP clients", () => {
  it.effect.each([["2026-07-28"], ["2025-11-25"], ["2025-06-18"], ["2025-03-26"]])(
    "speak version %s",
    ([version]) =>
      Effect.gen(function* () {
        const modern = version === "2026-07-28"
        const { url } = yield* startScripted({
          versions: [version ?? ""],
          answer: ({ method, params }) => {
            if (!modern) return undefined
            const complete = { resultType: "complete", ttlMs: 0, cacheScope: "private" }
            if (method === "server/discover") {
              return { ...complete, supportedVersions: [version], capabilities: { tools: {} } }
            }
            if (method === "tools/list") return { ...complete, tools: [listedTool("a")] }
            return { resultType: "complete", content: [{ type: "text", text: `${params.name} done` }] }
          },
          tools: [listedTool("a")]
        })
        const { call } = yield* using(serverAt(url))
        assert.strictEqual(yield* call("a"), "a done")
      })
  )

  it.effect("remember the version that worked", () =>
    Effect.gen(function* () {
      const server = yield* startScripted({ versions: ["2025-06-18"], tools: [listedTool("a")] })
      const { clients } = yield* using(serverAt(server.url))
      assert.deepStrictEqual(server.asked.slice(0, 3), ["server/discover", "initialize", "initialize"])
      server.asked.length = 0
      yield* clients.tools(serverAt(server.url, { other: "header" }))
      assert.deepStrictEqual(server.asked.slice(0, 2), ["initialize", "notifications/initialized"])
    })
  )

  it.effect("ask for the tools once a minute", () =>
    Effect.gen(function* () {
      const server = yield* startScripted({ tools: [listedTool("a")] })
      const { clients } = yield* using(serverAt(server.url))
      yield* Effect.all(
        Array.from({ length: 10 }, () => clients.tools(serverAt(server.url))),
        {
          concurrency: "unbounded"
        }
      )
      assert.strictEqual(server.asked.filter((method) => method === "tools/list").length, 1)
      assert.strictEqual(server.asked.filter((method) => method === "initialize").length, 1)
    })
  )

  it.effect("keep the good tools of a list that has odd ones", () =>
    Effect.gen(function* () {
      const huge = { type: "object", description: "x".repeat(70_000) }
      let deep: object = { type: "string" }
      for (let level = 0; level < 1_000; level++) deep = { type: "object", properties: { deep } }
      const tools = [
        listedTool("a"),
        listedTool("deep", { inputSchema: deep }),
        { name: "no schema" },
        { ...listedTool("array"), inputSchema: { type: "array" } },
        listedTool("huge", { inputSchema: huge }),
        listedTool("icons", {
          icons: "none",
          outputSchema: 5,
          annotations: { readOnlyHint: true, title: 5 }
        }),
        "no tool",
        null,
        listedTool("not\u0000kept"),
        listedTool("b.ö/")
      ]
      const { url } = yield* startScripted({ tools })
      const { tools: kept } = yield* using(serverAt(url))
      assert.deepStrictEqual(
        kept.map(({ annotations, name }) => [name, annotations?.readOnlyHint]),
        [
          ["a", false],
          ["icons", true],
          ["b.ö/", false]
        ]
      )
    })
  )

  it.effect("take 128 tools and no further page", () =>
    Effect.gen(function* () {
      let page = 0
      const { url } = yield* startScripted({
        answer: ({ method }) => {
          if (method !== "tools/list") return undefined
          const tools = Array.from({ length: 50 }, (_, index) => listedTool(`t${page}_${index}`))
          return { tools, nextCursor: String(++page) }
        }
      })
      const { tools } = yield* using(serverAt(url))
      assert.strictEqual(tools.length, 128)
      assert.strictEqual(page, 3)
    })
  )

  it.effect("take 512 KiB of schemas, over all pages, and smaller ones behind those that are too much", () =>
    Effect.gen(function* () {
      const schema = (bytes: number) => ({
        inputSchema: { type: "object", description: "x".repeat(bytes - 34) }
      })
      const pages = [
        Array.from({ length: 6 }, (_, index) => listedTool(`first_${index}`, schema(60_000))),
        [
          ...Array.from({ length: 3 }, (_, index) => listedTool(`second_${index}`, schema(60_000))),
          listedTool("rest", schema(44_000))
        ]
      ]
      const { url } = yield* startScripted({
        answer: ({ method, params }) => {
          if (method !== "tools/list") return undefined
          const page = params?.cursor === undefined ? 0 : 1
          return { tools: pages[page], ...(page === 0 && { nextCursor: "1" }) }
        }
      })
      const { tools } = yield* using(serverAt(url))
      const firsts = Array.from({ length: 6 }, (_, index) => `first_${index}`)
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        [...firsts, "second_0", "second_1", "rest"]
      )
    })
  )

  it.effect("fail on a list that is none, and on what is no MCP at all", () =>
    Effect.gen(function* () {
      const clients = yield* makeClients()
      const odd = yield* startScripted({
        answer: ({ method }) => (method === "tools/list" ? { tools: "none" } : undefined)
      })
      assert.strictEqual((yield* failure(clients.tools(serverAt(odd.url)))).reason, "answer")
      for (const [status, reason] of [
        [200, "answer"],
        [404, "unreachable"],
        [500, "answer"],
        [503, "unreachable"],
        [403, "unauthorized"]
      ] as const) {
        const page = yield* startHttp((_, response) => {
          response.writeHead(status, { "content-type": "text/html" }).end("<h1>hello</h1>")
        })
        assert.strictEqual((yield* failure(clients.tools(serverAt(page.url)))).reason, reason, `${status}`)
      }
      const dead = serverAt(`http://127.0.0.1:${yield* freePort}/mcp`)
      assert.strictEqual((yield* failure(clients.tools(dead))).error, "the server could not be reached")
    })
  )
})
