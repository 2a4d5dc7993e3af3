import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import { Lease } from "../../../src/Services/Lease.ts"
import { ofWork, within } from "../../../src/Services/Telemetry.ts"
import { IdempotencyKey } from "../../../src/Services/ToolSource.ts"
import { handled, listedTool, readBody, startHttp, startScripted } from "../../support/Mcp.ts"
import { failure, makeClients, serverAt, using } from "../../support/McpClients.ts"
import { makeTraces } from "../../support/Traces.ts"
import { eventually } from "../../support/Until.ts"

describe("calls of MCP clients", () => {
  it.effect("take no answer of more than 4 MiB", () =>
    Effect.gen(function* () {
      const { url } = yield* startScripted({
        tools: [listedTool("big"), listedTool("small")],
        answer: ({ method, params }) =>
          method === "tools/call" && params.name === "big"
            ? { content: [{ type: "text", text: "x".repeat(5_000_000) }] }
            : undefined
      })
      const { call } = yield* using(serverAt(url))
      assert.deepInclude(yield* failure(call("big")), {
        reason: "answer",
        error: "the answer of the server is too large"
      })
      assert.strictEqual(yield* call("small"), "small done")
    })
  )

  it.effect("give structured content where there is no text, and survive what is nested beyond reason", () =>
    Effect.gen(function* () {
      const answers: Record<string, object> = {
        plain: { content: [], structuredContent: { a: [1, "b\u0000"] } },
        deep: { content: [], structuredContent: { at: "deep" } },
        both: { content: [{ type: "text", text: "words" }], structuredContent: { a: 1 } },
        neither: { content: [] },
        silent: { content: [], isError: true }
      }
      const { url } = yield* startScripted({
        tools: Object.keys(answers).map((name) => listedTool(name)),
        answer: ({ id, method, params, response }) => {
          if (method !== "tools/call") return undefined
          if (params.name !== "deep") return answers[params.name]
          const nested = `${"[".repeat(100_000)}${"]".repeat(100_000)}`
          response.writeHead(200, { "content-type": "application/json" })
          response.end(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":${nested}}}`)
          return handled
        }
      })
      const { call } = yield* using(serverAt(url))
      assert.deepStrictEqual(yield* call("plain"), { a: [1, "b\ufffd"] })
      assert.strictEqual((yield* failure(call("deep"))).error, "the answer of the server can't be read")
      assert.strictEqual(yield* call("both"), "words")
      assert.strictEqual(yield* call("neither"), "")
      assert.strictEqual((yield* failure(call("silent"))).error, "the tool failed without saying why")
    })
  )

  it.effect.each(["2025-11-25", "2025-03-26"])(
    "say in version %s what the call is known by, if it is",
    (version) =>
      Effect.gen(function* () {
        const seen: Array<unknown> = []
        const { url } = yield* startScripted({
          versions: [version],
          tools: [listedTool("t")],
          answer: ({ method, params }) => {
            if (method === "tools/call") seen.push(params._meta?.["agentd/idempotencyKey"])
            return undefined
          }
        })
        const { call } = yield* using(serverAt(url))
        yield* call("t")
        yield* Effect.provideService(call("t"), IdempotencyKey, "run_1/call_1")
        assert.deepStrictEqual(seen, [undefined, "run_1/call_1"])
      })
  )

  it.effect.each(["2025-11-25", "2025-03-26"])(
    "say in version %s in which trace they are made, in a header and in `_meta`",
    (version) =>
      Effect.gen(function* () {
        const seen: Array<unknown> = []
        const { url } = yield* startScripted({
          versions: [version],
          tools: [listedTool("t")],
          answer: ({ method, params, request: { headers } }) => {
            if (method === "tools/call") seen.push([headers.traceparent, params._meta?.traceparent])
            return undefined
          }
        })
        const { call } = yield* using(serverAt(url))
        const kept = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
        yield* call("t")
        yield* call("t").pipe(within(kept))
        yield* call("t").pipe(
          within(kept),
          Effect.provide(makeTraces({ tracing: false, propagation: false }).layer)
        )
        const traces = makeTraces()
        const traced = call("t").pipe(
          Effect.withSpan("calls", { annotations: ofWork }),
          within(kept.replace(/00$/, "01"))
        )
        yield* Effect.provide(traced, traces.layer)
        const inSpan = `${kept.slice(0, 36)}${traces.spans()[0]?.spanId}-01`
        assert.deepStrictEqual(seen, [
          [undefined, undefined],
          [kept, kept],
          [undefined, undefined],
          [inSpan, inSpan]
        ])
        assert.deepStrictEqual(
          traces.spans().map(({ name }) => name),
          ["calls"]
        )
      })
  )

  it.effect("are not sent when the lease of what makes them ends while all else is looked up", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const { url } = yield* startScripted({
        tools: [listedTool("t")],
        answer: ({ method }) => void seen.push(method)
      })
      const { call } = yield* using(serverAt(url))
      const ended = yield* Effect.exit(Effect.provideService(call("t"), Lease, Effect.interrupt))
      assert.isTrue(Exit.hasInterrupts(ended))
      assert.isFalse(seen.includes("tools/call"))
      // The connection is of use to others.
      const before = seen.length
      yield* call("t")
      assert.deepStrictEqual(seen.slice(before), ["tools/call"])
    })
  )

  it.effect("close the connection of a call that is interrupted", () =>
    Effect.gen(function* () {
      let isOpen = false
      const { url } = yield* startScripted({
        tools: [listedTool("hang")],
        answer: ({ method, response }) => {
          // It does not even take note of the cancellation: nobody waits for that.
          if (method === "notifications/cancelled") return handled
          if (method !== "tools/call") return undefined
          isOpen = true
          response.once("close", () => {
            isOpen = false
          })
          return handled
        }
      })
      const { call } = yield* using(serverAt(url))
      const fiber = yield* Effect.forkChild(call("hang"))
      yield* eventually(
        Effect.sync(() => isOpen),
        "the call is under way"
      )
      // The clock stands still: whoever waited for time to pass would wait for ever.
      yield* Fiber.interrupt(fiber)
      yield* eventually(
        Effect.sync(() => !isOpen),
        "the connection is closed"
      )
    })
  )

  it.effect("do not send a call again whose connection was cut", () =>
    Effect.gen(function* () {
      const server = yield* startScripted({
        tools: [listedTool("cut")],
        answer: ({ method, response }) => {
          if (method !== "tools/call") return undefined
          response.writeHead(200, { "content-type": "application/json" }).write("{")
          setImmediate(() => response.destroy())
          return handled
        }
      })
      const { call } = yield* using(serverAt(server.url))
      const error = yield* failure(call("cut"))
      assert.strictEqual(error.error, "the connection to the server was cut before it had answered")
      assert.strictEqual(server.asked.filter((method) => method === "tools/call").length, 1)
    })
  )

  it.effect("tell the words of the server, but no key that it says back", () =>
    Effect.gen(function* () {
      const { url } = yield* startScripted({
        tools: [listedTool("a"), listedTool("b")],
        answer: ({ method, params, request, response, id }) => {
          if (method !== "tools/call") return undefined
          const key = request.headers.authorization
          if (params.name === "a") return { isError: true, content: [{ type: "text", text: `bad: ${key}` }] }
          const error = { code: -32602, message: `Invalid: ${key}` }
          response.writeHead(200, { "content-type": "application/json" })
          response.end(JSON.stringify({ jsonrpc: "2.0", id, error }))
          return handled
        }
      })
      const { call } = yield* using(serverAt(url, { authorization: "Bearer canary-canary" }))
      assert.strictEqual((yield* failure(call("a"))).error, "bad: [hidden]")
      assert.strictEqual(
        (yield* failure(call("b"))).error,
        "the server refused the request: Invalid: [hidden]"
      )
    })
  )

  it.effect("close the longest unused connection when there are more than 256", () =>
    Effect.gen(function* () {
      let made = 0
      const { asked, url } = yield* startScripted({
        tools: [listedTool("a")],
        answer: ({ method, response }) =>
          method === "initialize" ? void response.setHeader("mcp-session-id", `s${++made}`) : undefined
      })
      const clients = yield* makeClients()
      const servers = Array.from({ length: 257 }, (_, index) => ({
        ...serverAt(url),
        connectorId: `conn_${index}`
      }))
      yield* Effect.forEach(servers, clients.tools, { concurrency: 8 })
      yield* eventually(
        Effect.sync(() => asked.includes("DELETE")),
        "a session was ended"
      )
      assert.strictEqual(asked.filter((method) => method === "DELETE").length, 1)
    })
  )

  it.effect("are closed in 2 s, also where a server does not answer, and end sessions", () =>
    Effect.gen(function* () {
      let ended = 0
      const stuck = () =>
        startScripted({
          tools: [listedTool("a")],
          answer: ({ method, response }) => {
            if (method === "initialize") response.setHeader("mcp-session-id", "s1")
            return undefined
          }
        })
      const scripted = yield* stuck()
      const front = yield* startHttp(async (request, response) => {
        if (request.method === "DELETE") {
          ended++
          return
        }
        const answer = await fetch(scripted.url, { method: "POST", body: await readBody(request) })
        const session = answer.headers.get("mcp-session-id")
        response.writeHead(answer.status, {
          "content-type": "application/json",
          ...(session !== null && { "mcp-session-id": session })
        })
        response.end(await answer.text())
      })
      const scope = yield* Scope.make()
      const clients = yield* Scope.provide(makeClients(), scope)
      const ids = Array.from({ length: 5 }, (_, index) => `conn_${index}`)
      yield* Effect.forEach(ids, (connectorId) => clients.tools({ ...serverAt(front.url), connectorId }))
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* eventually(
        Effect.sync(() => ended === 5),
        "all sessions were ended"
      )
      yield* TestClock.adjust(1_999)
      assert.isUndefined(closing.pollUnsafe())
      yield* TestClock.adjust(1)
      yield* Fiber.join(closing)
    })
  )
})
