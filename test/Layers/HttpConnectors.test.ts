import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { listedTool, startScripted } from "../support/Mcp.ts"
import { layerOffline, makeTenant } from "../support/Service.ts"
import { isError, makeWeb } from "../support/Web.ts"

const healthFields = ["status", "checkedAt", "error", "serverName", "serverVersion", "protocolVersion"]

/** A tenant with a connector of this metadata. */
const makeSubject = Effect.fnUntraced(function* (given: object) {
  const { send } = yield* makeWeb
  const { token, workspaceId } = yield* makeTenant()
  const made = yield* send("POST", "/api/connectors", { token, json: { workspaceId, ...given } })
  assert.strictEqual(made.status, 201, made.text)
  const { id } = (made.body as { data: { id: string } }).data
  const ask = (method: string, what: string, json?: object) =>
    Effect.map(
      send(method, `/api/connectors/${id}${what}`, { token, ...(json !== undefined && { json }) }),
      (answer) => {
        assert.strictEqual(answer.status, 200, answer.text)
        return (answer.body as { data: Record<string, unknown> }).data
      }
    )
  return { ask, id, send, token, workspaceId }
})

const mcp = (url: string) => ({ type: "mcp", providerName: "docs", metadata: { url } })

describe("/api/connectors/{id}", () => {
  it.live("tells its tools, its health and what a check has found, and nothing of a former server", () =>
    Effect.gen(function* () {
      const server = yield* startScripted({ tools: [listedTool("read")] })
      const { ask } = yield* makeSubject(mcp(server.url))
      const unused = yield* ask("GET", "/health")
      assert.deepStrictEqual(unused, {
        ...Object.fromEntries(healthFields.map((name) => [name, null])),
        status: "ACTIVE"
      })
      const { tools, ...shown } = yield* ask("GET", "/tools")
      assert.deepStrictEqual(tools, [
        {
          name: "docs__read",
          originalName: "read",
          description: "does read",
          readOnly: false,
          destructive: false,
          inputSchema: { type: "object", properties: {} }
        }
      ])
      assert.deepInclude(shown, {
        status: "ACTIVE",
        error: null,
        serverName: "scripted",
        serverVersion: "1",
        protocolVersion: "2025-11-25"
      })
      assert.match(String(shown.checkedAt), /^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/u)
      assert.deepStrictEqual(yield* ask("GET", "/health"), shown)

      yield* server.stop
      const broken = yield* ask("POST", "/check")
      assert.sameMembers(Object.keys(broken), healthFields)
      assert.deepInclude(broken, {
        status: "ERROR",
        serverName: "scripted",
        error: { code: "unreachable", message: "the server could not be reached" }
      })
      assert.deepStrictEqual(yield* ask("GET", "/health"), broken)
      assert.deepInclude(yield* ask("GET", ""), { status: "ERROR" })

      const other = yield* startScripted({})
      yield* ask("PATCH", "", { metadata: { url: other.url } })
      assert.deepInclude(yield* ask("GET", "/health"), { checkedAt: null, error: null, serverName: null })
      assert.deepInclude(yield* ask("POST", "/check"), { status: "ACTIVE", serverName: "scripted" })
    }).pipe(Effect.provide(layerOffline({ allowPrivateAddresses: true })))
  )

  it.live("refuses a private address in words, as any use does", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* startScripted({})
      const { ask } = yield* makeSubject(mcp(url))
      const { error, status } = yield* ask("POST", "/check")
      assert.strictEqual(status, "ERROR")
      assert.deepInclude(error, { code: "address_not_allowed" })
      assert.deepInclude(yield* ask("GET", "/tools"), { status: "ERROR", tools: [] })
      assert.deepStrictEqual(asked, [])
    }).pipe(Effect.provide(layerOffline()))
  )

  it.live("says the same of a name that does not exist and of one inside, whatever is asked", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      for (const host of ["nowhere.invalid", "localhost", "127.0.0.1"]) {
        const { ask } = yield* makeSubject(mcp(`http://${host}:4000/mcp`))
        for (const [method, path] of [
          ["POST", "/check"],
          ["GET", "/health"],
          ["GET", "/tools"]
        ] as const) {
          const answer = { ...(yield* ask(method, path)), checkedAt: null }
          told.push(`${path} ${JSON.stringify(answer).replaceAll(host, "HOST")}`)
        }
      }
      assert.lengthOf(new Set(told), 3)
      assert.include(told[0], '"address_not_allowed","message":"HOST is no known host, or one in a private')
    }).pipe(Effect.provide(layerOffline()))
  )

  it.live("has no tools and no error where there is no server", () =>
    Effect.gen(function* () {
      const { ask } = yield* makeSubject({ providerId: "unheard-of" })
      const expected = { status: "ACTIVE", checkedAt: null, error: null }
      assert.deepInclude(yield* ask("GET", "/tools"), { ...expected, tools: [] })
      assert.deepInclude(yield* ask("POST", "/check"), expected)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.live("answers 429 to who checks without end, and says when to come again", () =>
    Effect.gen(function* () {
      const { url } = yield* startScripted({})
      const { id, send, token } = yield* makeSubject(mcp(url))
      const check = send("POST", `/api/connectors/${id}/check`, { token })
      for (let i = 0; i < 12; i++) assert.strictEqual((yield* check).status, 200)
      const over = yield* check
      isError(over, 429, "rate_limited")
      assert.match(over.headers.get("retry-after") ?? "", /^[1-5]$/u)
    }).pipe(Effect.provide(layerOffline({ allowPrivateAddresses: true })))
  )

  it.live("says which field is at fault of a server that could never be used", () =>
    Effect.gen(function* () {
      const { id, send, token, workspaceId } = yield* makeSubject(mcp("https://mcp.example.org/"))
      for (const [metadata, field] of [
        [{}, "metadata.url: "],
        [{ command: "npx" }, "metadata.command: "],
        [{ url: "https://mcp.example.org/", credential: "a\nb" }, "metadata.credential: "]
      ] as const) {
        const json = { workspaceId, type: "mcp", metadata }
        const made = yield* send("POST", "/api/connectors", { token, json })
        const patched = yield* send("PATCH", `/api/connectors/${id}`, { token, json: { metadata } })
        for (const { body, headers, status } of [made, patched]) {
          assert.deepStrictEqual([status, headers.get("x-error-code")], [400, "invalid_input"])
          assert.isTrue((body as { error: string }).error.startsWith(field))
        }
      }
    }).pipe(Effect.provide(layerOffline()))
  )
})
