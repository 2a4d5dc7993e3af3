import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { TestClock } from "effect/testing"
import { ToolError } from "../../../src/Services/ToolSource.ts"
import { readBody, startEverything, startHttp, startMemory } from "../../support/Mcp.ts"
import { failure, makeClients, serverAt, using } from "../../support/McpClients.ts"

describe("MCP clients, with the server of everything", () => {
  it.effect("list, call, and put results into words", () =>
    Effect.gen(function* () {
      const { url } = yield* startEverything()
      const { call, tools } = yield* using(serverAt(url))
      assert.includeMembers(
        tools.map(({ name }) => name),
        ["echo", "get-sum", "get-tiny-image"]
      )
      assert.strictEqual(yield* call("echo", { message: "hello" }), "Echo: hello")
      assert.match(String(yield* call("get-sum", { a: 2, b: 3 })), /5/u)
      assert.match(String(yield* call("get-tiny-image")), /\n\[image image\/png, \d+ bytes: not shown\]\n/u)
      assert.match(String(yield* call("get-structured-content", { location: "Chicago" })), /temperature/u)
      assert.match(String(yield* call("get-resource-links", { count: 2 })), /demo:\/\/resource/u)
      const error = yield* failure(call("get-resource-reference", { resourceType: "none", resourceId: 1 }))
      assert.instanceOf(error, ToolError)
      assert.match(error.error, /resourceType/u)
    })
  )

  it.effect("find a restarted server again, and do the call once", () =>
    Effect.gen(function* () {
      const first = yield* startEverything()
      const { call } = yield* using(serverAt(first.url))
      assert.strictEqual(yield* call("echo", { message: "1" }), "Echo: 1")
      yield* first.stop
      const away = yield* failure(call("echo", { message: "2" }))
      assert.deepInclude(away, { _tag: "McpFailure", reason: "unreachable" })
      yield* startEverything(first.port)
      assert.strictEqual(yield* call("echo", { message: "3" }), "Echo: 3")
    })
  )

  it.effect("renew a session that the server has forgotten", () =>
    Effect.gen(function* () {
      const first = yield* startEverything()
      const { call } = yield* using(serverAt(first.url))
      yield* first.stop
      yield* startEverything(first.port)
      const both = yield* Effect.all([call("echo", { message: "1" }), call("echo", { message: "2" })], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(both, ["Echo: 1", "Echo: 2"])
    })
  )

  it.effect("give up a slow call when it is interrupted, as by the limit of the caller", () =>
    Effect.gen(function* () {
      const { url } = yield* startEverything()
      const { call } = yield* using(serverAt(url))
      const slow = call("trigger-long-running-operation", { duration: 3_600, steps: 1 })
      const fiber = yield* Effect.forkChild(Effect.timeoutOption(slow, "60 seconds"))
      assert.strictEqual(yield* call("echo", { message: "beside" }), "Echo: beside")
      yield* TestClock.adjust("60 seconds")
      assert.isTrue(Option.isNone(yield* Fiber.join(fiber)))
      assert.strictEqual(yield* call("echo", { message: "on" }), "Echo: on")
    })
  )

  it.effect("need the right key where there is one, and never say it", () =>
    Effect.gen(function* () {
      const { url } = yield* startEverything()
      const guard = yield* startHttp(async (request, response) => {
        if (request.headers.authorization !== "Bearer right-canary") {
          response
            .writeHead(401, { "content-type": "text/plain" })
            .end(`no: ${request.headers.authorization}`)
          return
        }
        const body = await readBody(request)
        const headers = Object.fromEntries(
          Object.entries(request.headers).filter(
            ([name]) => !["host", "connection", "content-length"].includes(name)
          )
        ) as Record<string, string>
        const method = request.method ?? "GET"
        const answer = await fetch(url, { method, headers, ...(body !== "" && { body }) })
        const { "content-encoding": _, ...kept } = Object.fromEntries(answer.headers)
        response.writeHead(answer.status, kept).end(await answer.text())
      })
      const clients = yield* makeClients()
      const error = yield* failure(
        clients.tools(serverAt(guard.url, { authorization: "Bearer wrong-canary" }))
      )
      assert.deepInclude(error, {
        reason: "unauthorized",
        error: "the server did not accept the credential (HTTP 401)"
      })
      assert.notInclude(JSON.stringify(error), "canary")
      const tools = yield* clients.tools(serverAt(guard.url, { authorization: "Bearer right-canary" }))
      assert.isAbove(tools.length, 5)
    })
  )
})

describe("MCP clients, with the memory server behind a proxy", () => {
  it.effect("list, call, and read back what was written", () =>
    Effect.gen(function* () {
      const { url } = yield* startMemory
      const server = serverAt(url)
      const clients = yield* makeClients()
      const tools = yield* clients.tools(server)
      const [create, read] = ["create_entities", "read_graph"].map((name) =>
        tools.find((tool) => tool.name === name)
      )
      if (create === undefined || read === undefined) return yield* Effect.die("no such tools")
      const entities = [{ name: "Ada", entityType: "person", observations: ["writes programs"] }]
      yield* clients.call(server, create, { entities })
      assert.match(JSON.stringify(yield* clients.call(server, read, {})), /writes programs/u)
    })
  )
})
