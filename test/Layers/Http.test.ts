import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Unavailable } from "../../src/Schemas/Errors.ts"
import { AgentRepo } from "../../src/Services/AgentRepo.ts"
import { Lifecycle } from "../../src/Services/Lifecycle.ts"
import { layerOffline, layerOver, makeTenant } from "../support/Service.ts"
import { isError, makeWeb } from "../support/Web.ts"

describe("HTTP errors", () => {
  it.effect("401 comes before every other check on /api", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const cases = [
        ["GET", "/api/agents", {}],
        ["GET", "/api/agents/agent_x", { token: `agentd_${"x".repeat(43)}` }],
        ["POST", "/api/agents", { body: "{" }],
        ["POST", "/api/tasks", { body: "a=b", headers: { "content-type": "text/plain" } }],
        ["GET", "/api/nothing", {}],
        ["DELETE", "/api/agents", {}],
        ["GET", "/api/runs", { headers: { cookie: "session=wrong" } }]
      ] as const
      for (const [method, path, options] of cases) {
        const answer = yield* send(method, path, options)
        isError(answer, 401, "unauthenticated")
        assert.strictEqual(answer.headers.get("www-authenticate"), "Bearer")
      }
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("404 and 405, the latter with Allow", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token } = yield* makeTenant()
      isError(yield* send("GET", "/nothing"), 404, "not_found")
      isError(yield* send("GET", "/api/nothing", { token }), 404, "not_found")
      isError(yield* send("GET", "/api/agents/agent_absent", { token }), 404, "not_found", "agent not found")
      const conversation = yield* send("DELETE", "/api/chat/conversations/conv_absent", { token })
      isError(conversation, 404, "not_found", "conversation not found")
      for (const odd of ["%00", "agent_%00", "x".repeat(150), "a".repeat(90).replace(/a/g, "%F0%9F%98%80")]) {
        isError(yield* send("GET", `/api/agents/${odd}`, { token }), 404, "not_found")
      }
      const other = yield* send("PUT", "/api/agents/agent_x", { token })
      isError(other, 405, "method_not_allowed")
      assert.strictEqual(other.headers.get("allow"), "GET, HEAD, PATCH, DELETE")
      isError(yield* send("POST", "/health/live"), 405, "method_not_allowed")
      isError(yield* send("POST", "/openapi.json"), 405, "method_not_allowed")
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("415 for a body that is not JSON, also without a type", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token } = yield* makeTenant()
      for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""]) {
        const headers = { "content-type": type }
        isError(
          yield* send("POST", "/api/agents", { token, body: "{}", headers }),
          415,
          "unsupported_media_type"
        )
      }
      const headers = { "content-type": "Application/JSON; charset=utf-8" }
      isError(yield* send("POST", "/api/agents", { token, body: "{}", headers }), 400, "invalid_input")
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("400 names the field at fault and never repeats its value", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const valid = { workspaceId, name: "a" }
      const cases: ReadonlyArray<readonly [unknown, string]> = [
        [{ name: "a" }, "workspaceId: is required"],
        [{ workspaceId }, "name: is required"],
        [{ ...valid, name: "" }, "name: must be 1 to 100 characters"],
        [{ ...valid, name: "x".repeat(101) }, "name: must be 1 to 100 characters"],
        [{ ...valid, name: " " }, "name: must not be only white space"],
        [{ ...valid, name: 5 }, "name: must be a string"],
        [{ ...valid, name: null }, "name: must be a string"],
        [{ ...valid, name: "a\u0000b" }, "name: must not contain NUL characters"],
        [{ ...valid, description: "x".repeat(501) }, "description: must be at most 500 characters"],
        [{ ...valid, systemPrompt: "x".repeat(10_001) }, "systemPrompt: must be at most 10000 characters"],
        [{ ...valid, projectId: "proj_x" }, "projectId: does not exist in this workspace"],
        [{ ...valid, providerKeyId: "pkey_x" }, "providerKeyId: does not exist in this workspace"],
        [[], "body: must be a JSON object"],
        [null, "body: must be a JSON object"]
      ]
      for (const [json, sentence] of cases) {
        isError(yield* send("POST", "/api/agents", { token, json }), 400, "invalid_input", sentence)
      }
      const malformed = yield* send("POST", "/api/agents", { token, body: '{"name":"s3cret' })
      isError(malformed, 400, "invalid_input", "body: must be valid JSON")
      const queries: ReadonlyArray<readonly [string, string]> = [
        ["", "workspaceId: is required"],
        [`workspaceId=${workspaceId}&limit=0`, "limit: must be a whole number from 1 to 100"],
        [`workspaceId=${workspaceId}&limit=101`, "limit: must be a whole number from 1 to 100"],
        [`workspaceId=${workspaceId}&limit=1.5`, "limit: must be a whole number from 1 to 100"],
        [`workspaceId=${workspaceId}&limit=abc`, "limit: must be a whole number from 1 to 100"],
        [`workspaceId=${workspaceId}&offset=-1`, "offset: must be a whole number from 0 to 9007199254740991"],
        [`workspaceId=${workspaceId}&projectId=proj_x`, "projectId: does not exist in this workspace"],
        [`workspaceId=${workspaceId}&agentId=agent_x`, "agentId: does not exist in this workspace"]
      ]
      for (const [query, sentence] of queries) {
        isError(yield* send("GET", `/api/runs?${query}`, { token }), 400, "invalid_input", sentence)
      }
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("403 for a workspace of others, the same as for one that does not exist", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token } = yield* makeTenant()
      const other = yield* makeTenant()
      for (const workspaceId of [other.workspaceId, "ws_absent"]) {
        const bodies = [
          ["/api/agents", { workspaceId, name: "a" }],
          ["/api/tasks", { workspaceId, prompt: "a" }],
          ["/api/chat/messages", { workspaceId, content: "a" }]
        ] as const
        const sentence = "workspaceId: you are not a member of this workspace"
        for (const [path, json] of bodies) {
          isError(yield* send("POST", path, { token, json }), 403, "forbidden", sentence)
        }
        for (const path of ["/api/agents", "/api/runs", "/api/chat/conversations"]) {
          const answer = yield* send("GET", `${path}?workspaceId=${workspaceId}`, { token })
          isError(answer, 403, "forbidden", sentence)
        }
      }
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("500 says nothing of the cause; 503 comes with Retry-After", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const broken = yield* send("GET", `/api/agents?workspaceId=${workspaceId}`, { token })
      isError(broken, 500, "internal_error", "internal error")
      const gone = yield* send("GET", "/api/agents/agent_x", { token })
      isError(gone, 503, "unavailable")
      assert.strictEqual(gone.headers.get("retry-after"), "1")
    }).pipe(
      Effect.provide(
        layerOver(
          Layer.succeed(AgentRepo, {
            insert: () => Effect.die("x"),
            find: () => Effect.fail(new Unavailable({ error: "away" })),
            page: () => Effect.die(new Error("secret")),
            extent: () => Effect.die(new Error("secret")),
            remove: () => Effect.succeed(false),
            update: () => Effect.succeed(Option.none()),
            named: () => Effect.die("x"),
            setPolicy: () => Effect.die("x")
          })
        )
      )
    )
  )

  it.effect("503 while draining, ready and /api alike, but the process is alive", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const lifecycle = yield* Lifecycle
      const { token, workspaceId } = yield* makeTenant()
      assert.strictEqual((yield* send("GET", "/health/ready")).status, 200)
      yield* lifecycle.startDraining
      isError(yield* send("GET", "/health/ready"), 503, "unavailable")
      isError(yield* send("GET", `/api/agents?workspaceId=${workspaceId}`, { token }), 503, "unavailable")
      assert.strictEqual((yield* send("GET", "/health/live")).status, 200)
    }).pipe(Effect.provide(layerOffline()))
  )
})

describe("bodies", () => {
  it.effect("400 for bytes that are no UTF-8, which decoding would change in silence", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const body = Buffer.concat([
        Buffer.from(`{"workspaceId":"${workspaceId}","name":"a`),
        Buffer.from([0xff]),
        Buffer.from('"}')
      ])
      isError(
        yield* send("POST", "/api/agents", { token, body }),
        400,
        "invalid_input",
        "body: must be UTF-8"
      )
    }).pipe(Effect.provide(layerOffline()))
  )
})

describe("credentials", () => {
  it.effect("takes the session cookie, but not from another origin and not beside a bad bearer", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const path = `/api/agents?workspaceId=${workspaceId}`
      const cookie = `session=${token}`
      assert.strictEqual((yield* send("GET", path, { headers: { cookie } })).status, 200)
      const beside = yield* send("GET", path, { token: "wrong", headers: { cookie } })
      isError(beside, 401, "unauthenticated")
      const json = { workspaceId, name: "a" }
      const from = (headers: Readonly<Record<string, string>>) =>
        send("POST", "/api/agents", { json, headers: { cookie, host: "agentd.test", ...headers } })
      assert.strictEqual((yield* from({})).status, 201)
      assert.strictEqual((yield* from({ origin: "http://agentd.test" })).status, 201)
      isError(yield* from({ origin: "http://evil.example" }), 403, "forbidden")
      isError(yield* from({ origin: "null" }), 403, "forbidden")
      isError(yield* from({ "sec-fetch-site": "cross-site" }), 403, "forbidden")
      const bearer = { token, json, headers: { origin: "http://evil.example" } }
      assert.strictEqual((yield* send("POST", "/api/agents", bearer)).status, 201)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("keeps a request id that a caller sends, if it is harmless", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const sent = yield* send("GET", "/health/live", { headers: { "x-request-id": "abc-1" } })
      assert.strictEqual(sent.headers.get("x-request-id"), "abc-1")
      for (const id of ["a b", "a".repeat(101), `agentd_${"x".repeat(43)}`]) {
        const odd = yield* send("GET", "/health/live", { headers: { "x-request-id": id } })
        assert.match(odd.headers.get("x-request-id") ?? "", /^req_/)
      }
    }).pipe(Effect.provide(layerOffline()))
  )
})
