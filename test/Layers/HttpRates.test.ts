import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Unavailable } from "../../src/Schemas/Errors.ts"
import { Lifecycle } from "../../src/Services/Lifecycle.ts"
import { Rights } from "../../src/Services/Rights.ts"
import { TokenRepo } from "../../src/Services/TokenRepo.ts"
import { layerOffline, layerOver, makeTenant } from "../support/Service.ts"
import { type Answer, isError, makeWeb } from "../support/Web.ts"

const toldOf = ({ headers }: Answer) => [headers.get("ratelimit-policy"), headers.get("ratelimit")]

const bad = `agentd_${"x".repeat(43)}`

describe("rates over HTTP", () => {
  it.effect("are told with every answer under /api, whatever its status", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const cookie = { cookie: `session=${token}` }
      const foreign = { ...cookie, host: "agentd.test", origin: "http://evil.example" }
      const json = { workspaceId, name: "a" }
      const answers = [
        [200, yield* send("GET", `/api/agents?workspaceId=${workspaceId}`, { token })],
        [201, yield* send("POST", "/api/agents", { token, json })],
        [400, yield* send("POST", "/api/agents", { token, json: {} })],
        [404, yield* send("GET", "/api/nothing", { token })],
        [405, yield* send("PUT", "/api/agents", { token })],
        [
          415,
          yield* send("POST", "/api/agents", { token, body: "x", headers: { "content-type": "text/plain" } })
        ],
        [200, yield* send("GET", `/api/agents?workspaceId=${workspaceId}`, { headers: cookie })],
        [403, yield* send("POST", "/api/agents", { json, headers: foreign })],
        [200, yield* send("POST", "/api/chat/messages", { token, json: { workspaceId, content: "hi" } })],
        [200, yield* send("GET", "//API/tokens", { token })],
        [200, yield* send("GET", "/%61%50i/tokens", { token })],
        [404, yield* send("GET", "/api?a=b", { token })],
        [404, yield* send("GET", "/api;a=b", { token })]
      ] as const
      answers.forEach(([status, answer], index) => {
        assert.strictEqual(answer.status, status)
        assert.deepStrictEqual(toldOf(answer), ['"default";q=60;w=60', `"default";r=${59 - index};t=1`])
      })
      for (const path of ["/health/live", "/openapi.json", "/docs", "/metrics", "/nothing"]) {
        assert.deepStrictEqual(toldOf(yield* send("GET", path)), [null, null])
      }
    }).pipe(Effect.provide(layerOffline({ ratePerMinute: 60 })))
  )

  it.effect("end in 429 with Retry-After, for a token and its cookie together", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const other = yield* makeTenant()
      const path = `/api/agents?workspaceId=${workspaceId}`
      assert.strictEqual((yield* send("GET", path, { token })).status, 200)
      assert.strictEqual((yield* send("GET", path, { headers: { cookie: `session=${token}` } })).status, 200)
      for (const [method, where] of [
        ["GET", path],
        ["GET", "/api/nothing"],
        ["POST", "/api/chat/messages"]
      ] as const) {
        const over = yield* send(method, where, { token })
        const sentence = "too many requests with this token: there may be 2 in a minute; try again in 30 s"
        isError(over, 429, "rate_limited", sentence)
        assert.strictEqual(over.headers.get("retry-after"), "30")
        assert.deepStrictEqual(toldOf(over), ['"default";q=2;w=60', '"default";r=0;t=30'])
      }
      const others = yield* send("GET", `/api/agents?workspaceId=${other.workspaceId}`, {
        token: other.token
      })
      assert.strictEqual(others.status, 200)
      for (const where of ["/health/live", "/openapi.json", "/metrics"]) {
        assert.strictEqual((yield* send("GET", where, { token })).status, 200)
      }
    }).pipe(Effect.provide(layerOffline({ ratePerMinute: 2 })))
  )

  it.effect(
    "count a refused request once, however it was refused, and then don't look at its credential",
    () =>
      Effect.gen(function* () {
        const { send } = yield* makeWeb
        const { token } = yield* makeTenant()
        yield* send("GET", "/api/tokens", { token })
        const refused = [
          ["GET", "/api/tokens", {}],
          ["GET", "/api/nothing", {}],
          ["GET", "/api/tokens", { token: bad }],
          ["GET", "/api/tokens", { headers: { cookie: "session=wrong" } }],
          ["GET", "/api/tokens", { token: bad, headers: { cookie: `session=${token}` } }],
          ["GET", "/api/tokens", { headers: { authorization: "Basic YTpi" } }],
          ["DELETE", "/api/agents", { token: bad }]
        ] as const
        for (const [index, [method, path, options]] of refused.entries()) {
          const answer = yield* send(method, path, options)
          isError(answer, 401, "unauthenticated")
          assert.deepStrictEqual(toldOf(answer), ['"anonymous";q=7;w=60', `"anonymous";r=${6 - index};t=9`])
        }
        for (const [method, path, options] of refused) {
          const answer = yield* send(method, path, options)
          isError(answer, 429, "rate_limited")
          assert.strictEqual(answer.headers.get("retry-after"), "9")
          assert.include(
            answer.text,
            "without a valid credential from this address: there may be 7 in a minute"
          )
        }
        assert.strictEqual((yield* send("GET", "/api/tokens", { token })).status, 200)
        assert.strictEqual((yield* send("GET", "/health/live")).status, 200)
        for (let i = 0; i < 9; i++) isError(yield* send("OPTIONS", "/api/tokens"), 401, "unauthenticated")
        isError(yield* send("OPTIONS", "/api/tokens", { token: bad }), 429, "rate_limited")
      }).pipe(Effect.provide(layerOffline({ anonymousPerMinute: 7 })))
  )

  it.effect("are told of the address where no credential was looked at", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token } = yield* makeTenant()
      const full = ['"anonymous";q=5;w=60', '"anonymous";r=5;t=0']
      yield* (yield* Lifecycle).startDraining
      const draining = yield* send("GET", "/api/tokens", { token })
      isError(draining, 503, "unavailable")
      assert.deepStrictEqual(toldOf(draining), full)
    }).pipe(Effect.provide(layerOffline({ anonymousPerMinute: 5 })))
  )

  it.effect("are not spent by a database that is away, which refuses nobody", () => {
    const away = new Unavailable({ error: "the database can't be reached; try again" })
    const ports = Layer.mergeAll(
      Layer.succeed(Rights, { owned: () => away, role: () => away }),
      Layer.succeed(
        TokenRepo,
        TokenRepo.of({
          findByHash: () => away,
          findOwned: () => away,
          insert: () => away,
          list: () => away,
          revoke: () => away
        } as unknown as TokenRepo["Service"])
      )
    )
    return Effect.gen(function* () {
      const { send } = yield* makeWeb
      for (const path of ["/api/tokens", "/api/nothing"]) {
        const answer = yield* send("GET", path, { token: bad })
        isError(answer, 503, "unavailable")
        assert.deepStrictEqual(toldOf(answer), ['"anonymous";q=5;w=60', '"anonymous";r=5;t=0'])
      }
    }).pipe(Effect.provide(layerOver(ports, { anonymousPerMinute: 5 })))
  })

  it.effect("are left out where there are none", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token } = yield* makeTenant()
      assert.deepStrictEqual(toldOf(yield* send("GET", "/api/tokens", { token })), [null, null])
      assert.deepStrictEqual(toldOf(yield* send("GET", "/api/tokens")), [
        '"anonymous";q=120;w=60',
        '"anonymous";r=119;t=1'
      ])
    }).pipe(Effect.provide(layerOffline({ ratePerMinute: 0 })))
  )
})
