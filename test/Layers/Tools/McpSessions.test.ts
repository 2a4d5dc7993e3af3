import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import { handled, listedTool, startScripted } from "../../support/Mcp.ts"
import { failure, makeClients, serverAt, using } from "../../support/McpClients.ts"
import { eventually } from "../../support/Until.ts"

/** A server that answers calls with this HTTP error, and the methods that it was asked for. */
const startRefusing = (options: {
  readonly status: number
  readonly error: { readonly code: number; readonly message: string }
  readonly hasSession: boolean
}) =>
  startScripted({
    tools: [listedTool("a")],
    answer: ({ id, method, response }) => {
      if (method === "initialize" && options.hasSession) response.setHeader("mcp-session-id", "s1")
      if (method !== "tools/call") return undefined
      response.writeHead(options.status, { "content-type": "application/json" })
      response.end(JSON.stringify({ jsonrpc: "2.0", id, error: options.error }))
      return handled
    }
  })

const lost = { code: -32000, message: "Bad Request: No valid session ID provided" }

describe("sessions of MCP clients", () => {
  it.effect.each([
    ["its session is not known", 400, lost, true, 2],
    ["a session is asked for", 400, { code: -32600, message: "Missing session ID" }, true, 2],
    ["nothing is found in a session", 404, { code: -32001, message: "Session not found" }, true, 2],
    ["there is no session that could be lost", 400, lost, false, 1],
    ["nothing is found without a session", 404, { code: -32001, message: "No such issue" }, false, 1],
    ["its arguments are wrong", 400, { code: -32602, message: "session ID must not be empty" }, true, 1],
    ["there is no such method", 400, { code: -32601, message: "no method for the session" }, true, 1],
    ["the server failed inside", 400, { code: -32603, message: "session broke" }, true, 1],
    ["a word only looks like it", 400, { code: -32000, message: "session_name must be set" }, true, 1]
  ] as const)("a call where %s", ([, status, error, hasSession, times]) =>
    Effect.gen(function* () {
      const server = yield* startRefusing({ status, error, hasSession })
      const { call } = yield* using(serverAt(server.url))
      yield* failure(call("a"))
      assert.strictEqual(server.asked.filter((method) => method === "tools/call").length, times)
    })
  )

  it.effect("a server without sessions that has forgotten us is begun with anew by the next call", () =>
    Effect.gen(function* () {
      const server = yield* startRefusing({
        status: 400,
        error: { code: -32000, message: "Server not initialized" },
        hasSession: false
      })
      const { call } = yield* using(serverAt(server.url))
      const begun = () => server.asked.filter((method) => method === "notifications/initialized").length
      const error = yield* failure(call("a"))
      assert.strictEqual(error.error, "the server answered HTTP 400: Server not initialized")
      assert.strictEqual(begun(), 1)
      yield* failure(call("a"))
      assert.strictEqual(begun(), 2)
    })
  )

  it.effect("a connection that failed is made anew by the next try, also when nobody waited for it", () =>
    Effect.gen(function* () {
      let isUp = false
      const server = yield* startScripted({
        tools: [listedTool("a")],
        answer: () => (isUp ? undefined : handled)
      })
      const clients = yield* makeClients()
      for (const wait of ["10 seconds", "4 seconds"] as const) {
        server.asked.length = 0
        const first = yield* Effect.forkChild(Effect.exit(clients.tools(serverAt(server.url))))
        yield* eventually(
          Effect.sync(() => server.asked.length > 0),
          "it was asked"
        )
        yield* TestClock.adjust(wait)
        // The last one is not waited for until its end; its connection goes on and fails later.
        yield* Fiber.interrupt(first)
        yield* TestClock.adjust("8 seconds")
      }
      isUp = true
      server.asked.length = 0
      assert.strictEqual((yield* clients.tools(serverAt(server.url))).length, 1)
      assert.include(server.asked, "tools/list")
    })
  )
})
