import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { makeLog } from "../../support/Log.ts"
import { listedTool, startScripted } from "../../support/Mcp.ts"
import { serverAt, using } from "../../support/McpClients.ts"

const token = "sk-canary-canary"
const headers = { authorization: `Bearer ${token}`, "x-key": `${token}-longer` }

describe("secrets that a server says back", () => {
  it.effect("are taken out of every text of a result", () =>
    Effect.gen(function* () {
      const text = (said: string) => ({ content: [{ type: "text", text: said }] })
      const uri = `file:///${token}`
      const answers: Record<string, object> = {
        whole: text(`you sent Bearer ${token}`),
        bare: text(`${token}, ${token} and ${token}-longer`),
        structured: { content: [], structuredContent: { a: [{ [token]: `is ${token}` }] } },
        resource: { content: [{ type: "resource", resource: { uri, text: `in ${token}` } }] },
        link: { content: [{ type: "resource_link", uri, name: token, title: token, description: token }] },
        image: { content: [{ type: "image", mimeType: token, data: "aGk=" }] },
        blob: { content: [{ type: "resource", resource: { uri, blob: "aGk=" } }] }
      }
      const { url } = yield* startScripted({
        tools: Object.keys(answers).map((name) => listedTool(name)),
        answer: ({ method, params }) => (method === "tools/call" ? answers[params.name] : undefined)
      })
      const { call } = yield* using(serverAt(url, headers))
      assert.deepStrictEqual(yield* Effect.all(Object.keys(answers).map((name) => call(name))), [
        "you sent [hidden]",
        "[hidden], [hidden] and [hidden]",
        { a: [{ "[hidden]": "is [hidden]" }] },
        "in [hidden]",
        "[hidden]: file:///[hidden]\n[hidden]",
        "[image [hidden], 2 bytes: not shown]",
        "[resource file:///[hidden], 2 bytes: not shown]"
      ])
    })
  )

  it.effect("are taken out also where they are of the address, encoded, or cut between two texts", () =>
    Effect.gen(function* () {
      const ofAddress = "canary-of-the-address"
      const text = (said: string) => ({ type: "text", text: said })
      const answers: Record<string, object> = {
        address: { content: [text(`you asked ?key=${ofAddress}`)] },
        encoded: { content: [text(`${btoa(`u:${token}`)} ${encodeURIComponent(`${token}/`)}`)] },
        cut: { content: [text(`is ${token.slice(0, 5)}`), text(token.slice(5))] },
        failed: { isError: true, content: [text(`no ${ofAddress}`)] }
      }
      const { url } = yield* startScripted({
        tools: Object.keys(answers).map((name) => listedTool(name)),
        answer: ({ method, params }) => (method === "tools/call" ? answers[params.name] : undefined)
      })
      const { call } = yield* using(serverAt(`${url}?key=${ofAddress}`, headers))
      assert.strictEqual(yield* call("address"), "you asked ?key=[hidden]")
      assert.match(String(yield* call("encoded")), /^.{0,4}\[hidden\].{0,4} \[hidden\]%2F$/u)
      assert.strictEqual(yield* call("cut"), "is [hidden]")
      assert.deepInclude(yield* Effect.flip(call("failed")), { error: "no [hidden]" })
    })
  )

  it.effect("are taken out of the log, which names tools that are left out", () => {
    const log = makeLog()
    return Effect.gen(function* () {
      const { url } = yield* startScripted({
        tools: [listedTool("a"), listedTool(`is ${token}`, { inputSchema: { type: "string" } })]
      })
      yield* using(serverAt(url, headers))
      assert.include(log.lines.join("\n"), "is [hidden]")
      assert.notInclude(log.lines.join("\n"), token)
    }).pipe(Effect.provide(log.layer))
  })

  it.effect("are taken out of the descriptions of tools, and a tool is not called by one", () =>
    Effect.gen(function* () {
      const property = { type: "string", description: `not ${token}` }
      const { url } = yield* startScripted({
        tools: [
          listedTool("a", {
            title: `A ${token}`,
            description: `does Bearer ${token}`,
            inputSchema: { type: "object", properties: { q: property } }
          }),
          listedTool(`is ${token}`)
        ]
      })
      const { tools } = yield* using(serverAt(url, headers))
      assert.deepStrictEqual(
        tools.map(({ description, inputSchema, name, title }) => ({ description, inputSchema, name, title })),
        [
          {
            name: "a",
            title: "A [hidden]",
            description: "does [hidden]",
            inputSchema: {
              type: "object",
              properties: { q: { type: "string", description: "not [hidden]" } }
            }
          }
        ]
      )
    })
  )
})
