import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Layer from "effect/Layer"
import { Api } from "../../../src/Api/Api.ts"
import { parse } from "../../../src/Schemas/Cors.ts"
import { AgentRepo } from "../../../src/Services/AgentRepo.ts"
import { Lifecycle } from "../../../src/Services/Lifecycle.ts"
import { operations } from "../../support/Operations.ts"
import { layerOffline, layerOver, makeTenant } from "../../support/Service.ts"
import { type Answer, isError, makeWeb } from "../../support/Web.ts"

const app = "https://app.example.com"
const evil = "https://evil.example"
const corsOrigins = parse(`${app},http://localhost:5173`) ?? assert.fail()
const named = { corsOrigins }
const any = { corsOrigins: "any" } as const

const preflight = (origin: string, method: string, headers?: string) => ({
  headers: {
    origin,
    "access-control-request-method": method,
    ...(headers !== undefined && { "access-control-request-headers": headers })
  }
})

const corsOf = ({ headers }: Answer): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...headers]
      .filter(([name]) => name.startsWith("access-control-"))
      .map(([name, value]) => [name.slice("access-control-".length), value])
  )

const varyOf = ({ headers }: Answer) =>
  (headers.get("vary") ?? "")
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())

/** A browser shows the answer to pages of this origin. */
const isShownTo = (answer: Answer, origin: string, what = "") => {
  const { "allow-origin": allowed, "expose-headers": exposed } = corsOf(answer)
  assert.strictEqual(allowed, origin, what)
  assert.include(exposed ?? "", "X-Request-Id", what)
  if (origin !== "*") assert.include(varyOf(answer), "origin", what)
}

const isShownToNobody = (answer: Answer, what = "") => assert.deepStrictEqual(corsOf(answer), {}, what)

/** Every path that there is, faces and pages included. */
const paths: ReadonlyArray<readonly [method: string, path: string]> = [
  ...operations.map(({ method, path }) => [method, path.replace(/\{(\w+)\}/g, "$1")] as const),
  ["POST", "/mcp"],
  ["GET", "/"],
  ["GET", "/docs"],
  ["GET", "/openapi.json"],
  ["GET", "/metrics"],
  ["GET", "/nothing"],
  ["GET", "/api/nothing"],
  ["GET", "/v1/nothing"]
]

describe("CORS", () => {
  it.effect(
    "answers a preflight at every path: looks at no credential, counts nothing, and asks nobody",
    () =>
      Effect.gen(function* () {
        const { send } = yield* makeWeb
        const { token } = yield* makeTenant()
        for (const [method, path] of paths) {
          const asked = "authorization,content-type,idempotency-key,mcp-session-id,x-stainless-lang"
          const answer = yield* send("OPTIONS", path, { token, ...preflight(app, method, asked) })
          assert.strictEqual(answer.status, 204, path)
          assert.strictEqual(answer.text, "")
          assert.match(answer.headers.get("x-request-id") ?? "", /^req_/)
          assert.includeMembers(varyOf(answer), ["origin", "access-control-request-headers"])
          const { "expose-headers": _, ...said } = corsOf(answer)
          assert.deepStrictEqual(said, {
            "allow-origin": app,
            "allow-credentials": "true",
            "allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
            "allow-headers": asked,
            "max-age": "7200"
          })
        }
        for (const status of [200, 429]) {
          assert.strictEqual((yield* send("GET", "/api/tokens", { token })).status, status)
        }
        yield* (yield* Lifecycle).startDraining
        assert.strictEqual((yield* send("OPTIONS", "/api/tokens", preflight(app, "GET"))).status, 204)
      }).pipe(Effect.provide(layerOffline({ ...named, ratePerMinute: 1, anonymousPerMinute: 1 })))
  )

  it.effect("shows every answer, errors of all kinds as well", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const headers = { origin: app }
      const json = { workspaceId, name: "a" }
      const long = JSON.stringify({ workspaceId, prompt: "x".repeat(1_100_000) })
      const chat = { workspaceId, content: "hello" }
      for (const [status, answer] of [
        [200, yield* send("GET", `/api/agents?workspaceId=${workspaceId}`, { token, headers })],
        [201, yield* send("POST", "/api/agents", { token, headers, json })],
        [200, yield* send("POST", "/api/chat/messages", { token, headers, json: chat })],
        [400, yield* send("POST", "/api/agents", { token, headers, json: {} })],
        [400, yield* send("POST", "/api/agents", { token, headers, body: "{" })],
        [401, yield* send("GET", "/api/agents", { headers })],
        [401, yield* send("GET", "/v1/models", { headers })],
        [401, yield* send("GET", "/api/nothing", { headers })],
        [403, yield* send("GET", "/api/agents?workspaceId=ws_none", { token, headers })],
        [404, yield* send("GET", "/api/nothing", { token, headers })],
        [404, yield* send("GET", "/nothing", { headers })],
        [405, yield* send("PUT", "/api/agents", { token, headers })],
        [413, yield* send("POST", "/api/tasks", { token, headers, body: long })],
        [
          415,
          yield* send("POST", "/api/agents", {
            token,
            body: "a",
            headers: { ...headers, "content-type": "text/plain" }
          })
        ],
        [200, yield* send("GET", "/openapi.json", { headers })]
      ] as const) {
        assert.strictEqual(answer.status, status, answer.text.slice(0, 200))
        isShownTo(answer, app, answer.text.slice(0, 200))
      }
      yield* (yield* Lifecycle).startDraining
      const gone = yield* send("GET", `/api/agents?workspaceId=${workspaceId}`, { token, headers })
      isError(gone, 503, "unavailable")
      isShownTo(gone, app)
    }).pipe(Effect.provide(layerOffline(named)))
  )

  it.effect("shows too many requests, and when to come again", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token } = yield* makeTenant()
      const headers = { origin: app }
      assert.strictEqual((yield* send("GET", "/api/tokens", { token, headers })).status, 200)
      const over = yield* send("GET", "/api/tokens", { token, headers })
      assert.strictEqual(over.status, 429)
      isShownTo(over, app)
      for (const name of ["RateLimit", "RateLimit-Policy", "Retry-After", "X-Error-Code"]) {
        assert.isTrue(over.headers.has(name))
        assert.include((corsOf(over)["expose-headers"] ?? "").split(","), name)
      }
    }).pipe(Effect.provide(layerOffline({ ...named, ratePerMinute: 1 })))
  )

  it.effect("shows a failure that nobody has foreseen", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token } = yield* makeTenant()
      const answer = yield* send("GET", "/api/agents/agent_x", { token, headers: { origin: app } })
      isError(answer, 500, "internal_error", "internal error")
      isShownTo(answer, app)
    }).pipe(Effect.provide(layerOver(Layer.mock(AgentRepo, {}), named)))
  )

  it.effect("exposes every header of the contract that browsers hide", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const answer = yield* send("GET", "/health/live", { headers: { origin: app } })
      const exposed = (corsOf(answer)["expose-headers"] ?? "").toLowerCase().split(",")
      const shown = [
        "cache-control",
        "content-language",
        "content-length",
        "content-type",
        "expires",
        "last-modified",
        "pragma"
      ]
      const document = JSON.parse(JSON.stringify(OpenApi.fromApi(Api)))
      const told = new Set<string>()
      for (const path of Object.values<object>(document.paths)) {
        for (const operation of Object.values(path)) {
          for (const response of Object.values<{ headers?: object }>(operation.responses ?? {})) {
            for (const name of Object.keys(response.headers ?? {})) told.add(name.toLowerCase())
          }
        }
      }
      told.delete("x-accel-buffering")
      assert.include([...told], "x-next-after")
      assert.includeMembers([...exposed, ...shown], [...told])
    }).pipe(Effect.provide(layerOffline(named)))
  )

  it.effect("shows nothing to others, and says that answers differ", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token } = yield* makeTenant()
      for (const origin of [evil, "null", `${app}.evil.example`, "http://app.example.com", undefined]) {
        const headers = origin === undefined ? {} : { origin }
        const answer = yield* send("GET", "/api/tokens", { token, headers })
        assert.strictEqual(answer.status, 200)
        isShownToNobody(answer, origin)
        assert.include(varyOf(answer), "origin")
      }
      const refused = yield* send("OPTIONS", "/api/tokens", preflight(evil, "GET"))
      isShownToNobody(refused)
      isError(refused, 401, "unauthenticated")
    }).pipe(Effect.provide(layerOffline(named)))
  )

  it.effect("is nothing at all where no origin is set", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token } = yield* makeTenant()
      const answer = yield* send("GET", "/api/tokens", { token, headers: { origin: app } })
      isShownToNobody(answer)
      assert.notInclude(varyOf(answer), "origin")
      const asked = yield* send("OPTIONS", "/api/tokens", preflight(app, "GET"))
      isShownToNobody(asked)
      isError(asked, 401, "unauthenticated")
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("of any origin is without credentials, and the same for all", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token } = yield* makeTenant()
      for (const origin of [app, evil, "null"]) {
        const asked = yield* send("OPTIONS", "/api/tokens", preflight(origin, "GET", "authorization"))
        assert.strictEqual(asked.status, 204)
        assert.deepInclude(corsOf(asked), { "allow-origin": "*", "allow-headers": "authorization" })
        const answers = [
          asked,
          yield* send("GET", "/api/tokens", { token, headers: { origin } }),
          yield* send("GET", "/api/tokens", { headers: { origin } })
        ]
        for (const answer of answers) {
          isShownTo(answer, "*")
          assert.notProperty(corsOf(answer), "allow-credentials")
          assert.notInclude(varyOf(answer), "origin")
        }
      }
    }).pipe(Effect.provide(layerOffline(any)))
  )

  it.effect("OPTIONS that is no preflight is answered as ever", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token } = yield* makeTenant()
      const path = "/api/agents"
      isError(yield* send("OPTIONS", path, { token }), 405, "method_not_allowed")
      const answer = yield* send("OPTIONS", path, { token, headers: { origin: app } })
      isError(answer, 405, "method_not_allowed")
    }).pipe(Effect.provide(layerOffline(named)))
  )
})

describe("the session of a page of another origin", () => {
  /** What became of a request that changes something, and whether its page may read that. */
  const change = (origin: string, headers: Readonly<Record<string, string>> = {}) =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token } = yield* makeTenant()
      const cookie = `${headers["x-forwarded-proto"] === "https" ? "__Host-" : ""}session=${token}`
      const answer = yield* send("POST", "/api/workspaces", {
        json: { name: "w" },
        headers: { host: "agents.example.com", origin, cookie, ...headers }
      })
      const { "allow-credentials": credentials, "allow-origin": shown } = corsOf(answer)
      return [answer.status, shown, credentials]
    })
  const https = { "x-forwarded-proto": "https" }

  it.effect("acts where the origin is named, with what browsers say of it", () =>
    Effect.gen(function* () {
      for (const site of ["same-site", "cross-site"]) {
        const said = { "sec-fetch-site": site, "sec-fetch-mode": "cors" }
        assert.deepStrictEqual(yield* change(app, { ...said, ...https }), [201, app, "true"])
        assert.deepStrictEqual(yield* change(app, said), [201, app, "true"])
        const local = "http://localhost:5173"
        assert.deepStrictEqual(yield* change(local, said), [201, local, "true"])
      }
    }).pipe(Effect.provide(layerOffline(named)))
  )

  it.effect("neither acts nor is read from a page in the clear where the service is reached over https", () =>
    Effect.gen(function* () {
      const local = "http://localhost:5173"
      assert.deepStrictEqual(yield* change(local, https), [403, local, undefined])
    }).pipe(Effect.provide(layerOffline(named)))
  )

  it.effect("does not act where it is not", () =>
    Effect.gen(function* () {
      for (const origin of [evil, "null", "http://app.example.com", "https://example.com"]) {
        assert.deepStrictEqual(yield* change(origin), [403, undefined, undefined], origin)
      }
      const unsaid = { "sec-fetch-site": "same-site", origin: "" }
      assert.deepStrictEqual((yield* change("", unsaid))[0], 403)
    }).pipe(Effect.provide(layerOffline(named)))
  )

  it.effect("does not act where any origin may ask", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* change(app), [403, "*", undefined])
    }).pipe(Effect.provide(layerOffline(any)))
  )
})
