import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { handled, listedTool, startScripted } from "../../support/Mcp.ts"
import { makeClients, serverAt, using } from "../../support/McpClients.ts"
import { stalls } from "../../support/McpStall.ts"

/** A server that lists these pages, as texts, one after the other and the last one for ever. */
const startPages = Effect.fnUntraced(function* (pages: ReadonlyArray<string>) {
  const told = { pages: 0 }
  const { url } = yield* startScripted({
    answer: ({ id, method, response }) => {
      if (method !== "tools/list") return undefined
      const page = pages[Math.min(told.pages++, pages.length - 1)] ?? "{}"
      // Each page says another cursor, so that the client does not see a circle.
      const result = page.replace('"cursor"', `"cursor ${told.pages}"`)
      response.writeHead(200, { "content-type": "application/json" })
      response.end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`)
      return handled
    }
  })
  return { url, told }
})

const bad = (index: number) => ({ name: `bad ${index}`, inputSchema: { type: "array" } })
const list = (length: number, of: (index: number) => unknown) =>
  Array.from({ length }, (_, index) => of(index))
const meta = Object.fromEntries(list(5_000, (index) => [`key ${index}`, index]) as Array<[string, number]>)
const wide = Object.fromEntries(
  list(1_900, (index) => [`p${index}`, { type: "string" }]) as Array<[string, object]>
)

const hostile: ReadonlyArray<readonly [string, object, ReadonlyArray<string>]> = [
  [
    "2,000 bad tools and a large _meta",
    { _meta: meta, tools: [listedTool("a"), ...list(2_000, bad)] },
    ["a"]
  ],
  ["60,000 bad tools", { tools: [listedTool("a"), ...list(60_000, bad)] }, ["a"]],
  [
    "a tool with a schema of 1.5 MB",
    {
      tools: [
        listedTool("a"),
        listedTool("b", { inputSchema: { type: "object", enum: list(500_000, () => []) } })
      ]
    },
    ["a"]
  ],
  [
    "tools with a lot of what nobody uses",
    {
      tools: list(120, (index) =>
        listedTool(`t${index}`, {
          _meta: Object.fromEntries(list(500, (key) => [`key ${key}`, key]) as Array<[string, number]>),
          icons: list(500, () => ({ src: "x" })),
          outputSchema: { type: "object", properties: { deep: list(500, () => ({})) } }
        })
      )
    },
    list(120, (index) => `t${index}`) as ReadonlyArray<string>
  ],
  [
    "many large schemas",
    {
      tools: list(66, (index) =>
        listedTool(`t${index}`, {
          inputSchema: { type: "object", properties: { ...wide, [`q${index}`]: {} } }
        })
      )
    },
    list(10, (index) => `t${index}`) as ReadonlyArray<string>
  ],
  ["no tools but a large frame", { _meta: meta, ...meta, tools: "none" }, []]
]

describe("lists of tools that would hold the process", () => {
  it.effect.each(hostile)("do not: %s", ([, page, names]) =>
    Effect.gen(function* () {
      const text = JSON.stringify(page)
      assert.isBelow(text.length, 4 * 1024 * 1024)
      // What is loaded with the first list is not measured.
      const plain = yield* startScripted({ tools: [listedTool("a")] })
      yield* using(serverAt(plain.url))
      const { url } = yield* startPages([text])
      const clients = yield* makeClients()
      const listed = Effect.orElseSucceed(clients.tools(serverAt(url)), () => [])
      const { longest, value } = yield* stalls(listed)
      assert.deepStrictEqual(
        value.map(({ name }) => name),
        names
      )
      assert.isBelow(longest, 200)
    })
  )

  it.effect("look at 256 tools, whatever the number of pages", () =>
    Effect.gen(function* () {
      const page = JSON.stringify({ nextCursor: "cursor", tools: list(100, bad) })
      const last = JSON.stringify({ nextCursor: "cursor", tools: [listedTool("late")] })
      const { told, url } = yield* startPages([page, page, page, last])
      const { tools } = yield* using(serverAt(url))
      assert.deepStrictEqual(tools, [])
      assert.strictEqual(told.pages, 3)
    })
  )

  it.effect("take what the first 16 pages hold", () =>
    Effect.gen(function* () {
      const page = JSON.stringify({ nextCursor: "cursor", tools: [] })
      const { told, url } = yield* startPages([
        JSON.stringify({ nextCursor: "cursor", tools: [listedTool("a")] }),
        page
      ])
      const { tools } = yield* using(serverAt(url))
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        ["a"]
      )
      assert.strictEqual(told.pages, 16)
    })
  )
})
