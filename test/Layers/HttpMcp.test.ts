import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { place } from "../../src/Layers/Http/Faces/Mcp/Places.ts"
import { RunId } from "../../src/Schemas/Ids.ts"
import type { SettingsShape } from "../../src/Services/Settings.ts"
import { type Message, makeMcpWeb, messagesOf } from "../support/McpWeb.ts"
import { layerOffline, makeTenant } from "../support/Service.ts"
import { eventually } from "../support/Until.ts"

const latest = "2025-11-25"
const inWeb = <A, E, R>(test: Effect.Effect<A, E, R>, settings: Partial<SettingsShape> = {}) =>
  Effect.provide(test, layerOffline(settings))

describe("/mcp", () => {
  it.effect("agrees on a version, the newest of its own where it does not know the client's", () =>
    inWeb(
      Effect.gen(function* () {
        const { begin } = yield* makeMcpWeb
        const { token } = yield* makeTenant()
        for (const [offered, agreed] of [
          ["2025-11-25", "2025-11-25"],
          ["2025-06-18", "2025-06-18"],
          ["2025-03-26", "2025-03-26"],
          ["2024-11-05", "2025-11-25"],
          ["2099-01-01", "2025-11-25"]
        ] as const) {
          const { answer, session } = yield* begin(token, offered)
          const [{ result }] = messagesOf(answer.text)
          assert.strictEqual(result.protocolVersion, agreed)
          assert.strictEqual(result.capabilities.tasks !== undefined, agreed === latest)
          assert.match(session ?? "", /^[\x21-\x7e]+$/u)
        }
      })
    )
  )

  it.effect("serves each version without anything that another node would miss", () =>
    inWeb(
      Effect.gen(function* () {
        const { token } = yield* makeTenant()
        const first = yield* makeMcpWeb
        const { session } = yield* first.begin(token, latest)
        const second = yield* makeMcpWeb
        const { result } = yield* second.ask(token, "tools/list", {}, { version: latest, session })
        assert.deepStrictEqual(
          result.tools.map(({ name }: { readonly name: string }) => name),
          ["send_task", "get_run", "cancel_run", "list_runs", "chat", "remember", "recall"]
        )
        const bare = yield* second.ask(token, "tools/list", {}, { version: "2025-06-18" })
        assert.lengthOf(bare.result.tools, 7)
        const lost = yield* second.ask(token, "tools/list", {}, { version: latest, session: "bm9wZQ" })
        assert.strictEqual(lost.status, 404)
        assert.strictEqual(lost.error.message, "Mcp-Session-Id: there is no such session")
      })
    )
  )

  it.effect(
    "says what it is to clients of 2026-07-28, and takes no request that says less than it must",
    () =>
      inWeb(
        Effect.gen(function* () {
          const { ask, send } = yield* makeMcpWeb
          const { token } = yield* makeTenant()
          const { result } = yield* ask(token, "server/discover")
          assert.deepStrictEqual(result.supportedVersions, [
            "2026-07-28",
            "2025-11-25",
            "2025-06-18",
            "2025-03-26"
          ])
          assert.strictEqual(result.resultType, "complete")
          assert.strictEqual(result._meta["io.modelcontextprotocol/serverInfo"].name, "agentd")
          const listed = yield* ask(token, "tools/list")
          assert.strictEqual(listed.result.cacheScope, "private")
          assert.isUndefined(listed.result.tools[0].execution)

          const refusedBy = (headers: Readonly<Record<string, string>>) =>
            Effect.map(ask(token, "server/discover", {}, { headers }), ({ error, status }) => [
              status,
              error.code
            ])
          assert.deepStrictEqual(yield* refusedBy({ "mcp-protocol-version": "2025-11-25" }), [400, -32020])
          assert.deepStrictEqual(yield* refusedBy({ "mcp-method": "tools/list" }), [400, -32020])
          const other = yield* ask(token, "tools/list", {}, { version: "2099-01-01" })
          assert.deepStrictEqual([other.status, other.error.code], [400, -32022])
          const named = yield* ask(
            token,
            "tools/call",
            { name: "recall" },
            { headers: { "mcp-name": "remember" } }
          )
          assert.deepStrictEqual([named.status, named.error.code], [400, -32020])
          const encoded = { "mcp-name": `=?base64?${Buffer.from("recall").toString("base64")}?=` }
          assert.isFalse(
            (yield* ask(token, "tools/call", { name: "recall" }, { headers: encoded })).result.isError
          )
          const unknown = yield* ask(token, "ping")
          assert.deepStrictEqual(
            [unknown.status, unknown.error.code, unknown.messages[0].id],
            [404, -32601, 1]
          )
          const json = { jsonrpc: "2.0", id: 5, method: "server/discover", params: {} }
          const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "server/discover" }
          const bare = yield* send("POST", "/mcp", { token, json, headers })
          assert.deepStrictEqual([bare.status, messagesOf(bare.text)[0].error.code], [400, -32602])
        })
      )
  )

  it.effect("refuses in the form of the protocol, and tells nobody anything who has no token", () =>
    inWeb(
      Effect.gen(function* () {
        const { send } = yield* makeMcpWeb
        const { token } = yield* makeTenant()
        const json = { jsonrpc: "2.0", id: 1, method: "ping" }
        const codeOf = (text: string) => messagesOf(text)[0].error.data?.code
        const nobody = yield* send("POST", "/mcp", { json })
        assert.deepStrictEqual([nobody.status, codeOf(nobody.text)], [401, "unauthenticated"])
        assert.strictEqual(nobody.headers.get("www-authenticate"), "Bearer")
        const cookie = yield* send("POST", "/mcp", { json, headers: { cookie: `session=${token}` } })
        assert.strictEqual(cookie.status, 401)
        assert.strictEqual((yield* send("GET", "/mcp", {})).status, 401)
        assert.strictEqual((yield* send("DELETE", "/mcp", {})).status, 401)
        const removed = yield* send("DELETE", "/mcp", { token })
        assert.deepStrictEqual([removed.status, removed.headers.get("allow")], [405, "POST"])
        assert.strictEqual((yield* send("GET", "/mcp", { token })).status, 405)
        const text = yield* send("POST", "/mcp", {
          token,
          body: "{}",
          headers: { "content-type": "text/plain" }
        })
        assert.deepStrictEqual([text.status, codeOf(text.text)], [415, "unsupported_media_type"])
        const large = yield* send("POST", "/mcp", { token, body: `"${"x".repeat(1024 * 1024)}"` })
        assert.deepStrictEqual([large.status, codeOf(large.text)], [413, "payload_too_large"])
        const broken = yield* send("POST", "/mcp", { token, body: "{" })
        assert.deepStrictEqual([broken.status, messagesOf(broken.text)[0].error.code], [400, -32700])
        const answer = yield* send("POST", "/mcp", { token, json })
        assert.deepStrictEqual([answer.status, answer.headers.get("cache-control")], [200, "no-store"])
        assert.isNotNull(answer.headers.get("ratelimit"))
        assert.match(answer.headers.get("x-request-id") ?? "", /^req_/)
        const accept = yield* send("POST", "/mcp", { token, json, headers: { accept: "text/html" } })
        assert.strictEqual(accept.status, 406)
      })
    )
  )

  it.effect("finds nothing by an id that can be none", () =>
    inWeb(
      Effect.gen(function* () {
        const { ask, send } = yield* makeMcpWeb
        const { token } = yield* makeTenant()
        const old = { version: latest }
        for (const taskId of ["\u0000", "run_\u0000", "\ud800", "r".repeat(101)]) {
          for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
            const { error } = yield* ask(token, method, { taskId }, old)
            assert.strictEqual(error?.message, "task not found", `${method} ${JSON.stringify(taskId)}`)
          }
        }
        const unknown = yield* ask(
          token,
          "tools/call",
          { name: "agent_\u0000", arguments: { prompt: "a" } },
          old
        )
        assert.strictEqual(unknown.error?.message, "Unknown tool: agent_\u0000")
        const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } }
        const notifications = { taskIds: ["run_\u0000"] }
        const heard = yield* ask(token, "subscriptions/listen", { notifications }, { capabilities })
        assert.deepStrictEqual(heard.messages[0].params.notifications, {})
        const json = { jsonrpc: "2.0", id: "appr_\u0000", result: { action: "decline" } }
        assert.strictEqual((yield* send("POST", "/mcp", { token, json })).status, 202)
      })
    )
  )

  it.live("answers who has waited by the rights that there are then", () =>
    inWeb(
      Effect.gen(function* () {
        const { call, send } = yield* makeMcpWeb
        const { token, workspaceId } = yield* makeTenant()
        const made = (path: string, json: object) =>
          Effect.map(send("POST", path, { token, json }), ({ body }) => (body as Message).data)
        const run = yield* made("/api/tasks", { workspaceId, prompt: "a" })
        const other = yield* made("/api/tokens", { name: "other" })
        const waiting = yield* Effect.forkChild(
          call(other.token, "get_run", { runId: run.id, waitSeconds: 60 })
        )
        yield* eventually(
          Effect.map(send("GET", "/metrics", { token }), ({ text }) =>
            /^agentd_node_waiting_requests 1$/mu.test(text)
          ),
          "it waits"
        )
        assert.strictEqual((yield* send("DELETE", `/api/tokens/${other.id}`, { token })).status, 200)
        assert.strictEqual((yield* send("POST", `/api/runs/${run.id}/cancel`, { token })).status, 200)
        assert.strictEqual((yield* Fiber.join(waiting)).status, 401)
      })
    )
  )

  it("goes on behind every place in a stream that it gives", () => {
    const rpcId = "\u0001".repeat(200)
    const followed = {
      runId: RunId.make("run_a"),
      kind: "task",
      after: 1,
      rpcId,
      progressToken: rpcId,
      ofTask: true
    } as const
    assert.deepStrictEqual(Option.getOrThrow(place.read(place.write(followed))), followed)
  })

  it.effect("lets pages in that nobody's DNS can have brought here, and no others", () =>
    inWeb(
      Effect.gen(function* () {
        const { send } = yield* makeMcpWeb
        const { token } = yield* makeTenant()
        const from = (origin: string, host: string) =>
          Effect.map(
            send("POST", "/mcp", {
              token,
              origin: `http://${host}`,
              json: { jsonrpc: "2.0", id: 1, method: "ping" },
              headers: { origin, host }
            }),
            ({ status }) => status
          )
        assert.strictEqual(yield* from("http://localhost:4350", "localhost:4350"), 200)
        assert.strictEqual(yield* from("http://127.0.0.1:4350", "127.0.0.1:4350"), 200)
        assert.strictEqual(yield* from("https://agentd.example.org", "agentd.example.org"), 200)
        assert.strictEqual(yield* from("http://evil.example.org:4350", "evil.example.org:4350"), 403)
        assert.strictEqual(yield* from("http://evil.example.org", "127.0.0.1:4350"), 403)
        assert.strictEqual(yield* from("null", "127.0.0.1:4350"), 403)
        assert.strictEqual(yield* from("http://app.example.org", "127.0.0.1:4350"), 200)
      }),
      { corsOrigins: new Set(["http://app.example.org"]) }
    )
  )

  it.effect(
    "takes notifications and answers without a word, and batches of the one version that has them",
    () =>
      inWeb(
        Effect.gen(function* () {
          const { send } = yield* makeMcpWeb
          const { token } = yield* makeTenant()
          const post = (json: unknown, version: string) =>
            send("POST", "/mcp", { token, json, headers: { "mcp-protocol-version": version } })
          for (const json of [
            { jsonrpc: "2.0", method: "notifications/initialized" },
            { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } },
            {
              jsonrpc: "2.0",
              id: "appr_nobodys",
              result: { action: "accept", content: { decision: "approve" } }
            }
          ]) {
            const answer = yield* post(json, latest)
            assert.deepStrictEqual([answer.status, answer.text], [202, ""])
          }
          const two = [
            { jsonrpc: "2.0", id: "a", method: "ping" },
            { jsonrpc: "2.0", method: "notifications/initialized" },
            {
              jsonrpc: "2.0",
              id: "b",
              method: "tools/call",
              params: { name: "chat", arguments: { message: "hi" } }
            }
          ]
          const answered = messagesOf((yield* post(two, "2025-03-26")).text)
          assert.deepStrictEqual(answered.map(({ id }) => id).sort(), ["a", "b"])
          assert.strictEqual((yield* post(two, "2025-06-18")).status, 400)
          assert.strictEqual((yield* post([], "2025-03-26")).status, 400)
          assert.strictEqual((yield* post(new Array(21).fill(two[0]), "2025-03-26")).status, 400)
          for (const json of [
            {},
            { jsonrpc: "2.0", id: null, method: "ping" },
            { jsonrpc: "2.0", id: 1 },
            5,
            null
          ]) {
            const answer = yield* post(json, latest)
            assert.deepStrictEqual([answer.status, messagesOf(answer.text)[0].error.code], [400, -32600])
          }
        })
      )
  )
})
