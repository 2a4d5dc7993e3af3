import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { layerOffline, makeTenant } from "../support/Service.ts"
import { type Answer, dataOf, isError, makeWeb } from "../support/Web.ts"

/** The one cookie that an answer sets: its value, and its attributes in lower case. */
const cookieOf = ({ headers }: Answer, name = "session") => {
  const [cookie, ...others] = headers.getSetCookie()
  assert.deepStrictEqual(others, [])
  const [pair = "", ...attributes] = (cookie ?? assert.fail("no cookie is set")).split("; ")
  assert.isTrue(pair.startsWith(`${name}=`))
  return {
    pair,
    attributes: Object.fromEntries(
      attributes.map((attribute) => {
        const [name = "", value = ""] = attribute.split("=")
        return [name.toLowerCase(), value]
      })
    )
  }
}

const https = { "x-forwarded-proto": "https" }

describe("The session cookie", () => {
  it.effect("is for this server alone, for as long as the session lasts, and signs in", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const answer = yield* send("POST", "/api/session", { token })
      const { attributes, pair } = cookieOf(answer)
      const { expiresAt } = dataOf<{ readonly expiresAt: string }>(answer)
      assert.deepStrictEqual(attributes, {
        path: "/",
        httponly: "",
        samesite: "Lax",
        expires: new Date(expiresAt).toUTCString()
      })
      assert.isAbove(Date.parse(expiresAt), yield* Clock.currentTimeMillis)
      const path = `/api/agents?workspaceId=${workspaceId}`
      assert.strictEqual((yield* send("GET", path, { headers: { cookie: pair } })).status, 200)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("is secure where the browser came over https, by itself or to a proxy, and only there", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token } = yield* makeTenant()
      const isSecure = (headers: Readonly<Record<string, string>>, origin = "http://agentd.test") =>
        Effect.map(send("POST", "/api/session", { token, headers, origin }), (answer) => {
          const name = /^([^=]*)=/.exec(answer.headers.getSetCookie()[0] ?? "")?.[1]
          const isSecure = "secure" in cookieOf(answer, name).attributes
          assert.strictEqual(name, isSecure ? "__Host-session" : "session")
          return isSecure
        })
      assert.isTrue(yield* isSecure(https))
      for (const proto of ["HTTPS", " https , http", "https,https"]) {
        assert.isTrue(yield* isSecure({ "x-forwarded-proto": proto }))
      }
      assert.isFalse(yield* isSecure({ "x-forwarded-proto": "http, https" }))
      assert.isTrue(yield* isSecure({}, "https://agentd.test"))
      assert.isFalse(yield* isSecure({}))
      assert.isFalse(yield* isSecure({ "x-forwarded-proto": "http" }))
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("over https counts before one that another host of the domain has set", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const [ann, bob] = [yield* makeTenant(), yield* makeTenant()]
      const own = cookieOf(
        yield* send("POST", "/api/session", { token: ann.token, headers: https }),
        "__Host-session"
      )
      const planted = cookieOf(yield* send("POST", "/api/session", { token: bob.token }))
      for (const cookie of [`${own.pair}; ${planted.pair}`, `${planted.pair}; x=y; ${own.pair}`]) {
        const path = `/api/agents?workspaceId=${ann.workspaceId}`
        assert.strictEqual((yield* send("GET", path, { headers: { cookie, ...https } })).status, 200)
      }
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("is taken from no page in the clear where its server is reached over https", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token } = yield* makeTenant()
      const { pair: cookie } = cookieOf(yield* send("POST", "/api/session", { token }))
      const statusOf = (origin: string, headers: Readonly<Record<string, string>>) =>
        Effect.map(
          send("POST", "/api/workspaces", {
            headers: { cookie, host: "agentd.test", origin, ...headers },
            json: { name: "w" }
          }),
          ({ status }) => status
        )
      assert.strictEqual(yield* statusOf("https://agentd.test", https), 201)
      assert.strictEqual(yield* statusOf("https://agentd.test", {}), 201)
      assert.strictEqual(yield* statusOf("http://agentd.test", {}), 201)
      assert.strictEqual(yield* statusOf("http://agentd.test", https), 403)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("is taken back with the session", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const started = yield* send("POST", "/api/session", { token, headers: https })
      const { pair: cookie } = cookieOf(started, "__Host-session")
      const ended = yield* send("DELETE", "/api/session", { headers: { cookie, ...https } })
      assert.deepStrictEqual(cookieOf(ended, "__Host-session"), {
        pair: "__Host-session=",
        attributes: {
          path: "/",
          httponly: "",
          samesite: "Lax",
          secure: "",
          expires: new Date(0).toUTCString()
        }
      })
      const path = `/api/agents?workspaceId=${workspaceId}`
      assert.strictEqual((yield* send("GET", path, { headers: { cookie } })).status, 401)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("is not ended by another user who has it as a cookie", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const [owner, other] = [yield* makeTenant(), yield* makeTenant()]
      const started = yield* send("POST", "/api/session", { token: owner.token })
      const cookie = started.headers.get("set-cookie")?.split(";")[0] ?? assert.fail()
      const ended = yield* send("DELETE", "/api/session", { token: other.token, headers: { cookie } })
      assert.strictEqual(ended.status, 200)
      const path = `/api/agents?workspaceId=${owner.workspaceId}`
      assert.strictEqual((yield* send("GET", path, { headers: { cookie } })).status, 200)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("begins no time anew where a session begins another, and ends with what began it", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token } = yield* makeTenant()
      const json = { name: "short", expiresInDays: 2 }
      const short = dataOf<{ readonly id: string; readonly token: string; readonly expiresAt: string }>(
        yield* send("POST", "/api/tokens", { token, json })
      )
      const first = yield* send("POST", "/api/session", { token: short.token })
      const second = yield* send("POST", "/api/session", { headers: { cookie: cookieOf(first).pair } })
      const cookie = cookieOf(second).pair
      const made = yield* send("POST", "/api/tokens", {
        headers: { cookie },
        json: { name: "n", expiresInDays: 9 }
      })
      for (const answer of [first, second, made]) {
        assert.strictEqual(dataOf<{ readonly expiresAt: string }>(answer).expiresAt, short.expiresAt)
      }
      assert.strictEqual(cookieOf(second).attributes.expires, new Date(short.expiresAt).toUTCString())
      const listed = yield* send("GET", "/api/tokens", { headers: { cookie } })
      assert.deepStrictEqual(
        dataOf<ReadonlyArray<{ readonly name: string }>>(listed).map(({ name }) => name),
        ["test", "short", "browser session", "browser session", "n"]
      )
      assert.strictEqual((yield* send("DELETE", `/api/tokens/${short.id}`, { token })).status, 200)
      const refused = yield* send("GET", "/api/tokens", { headers: { cookie } })
      isError(refused, 401, "unauthenticated")
      assert.strictEqual((yield* send("GET", "/api/tokens", { token })).status, 200)
    }).pipe(Effect.provide(layerOffline()))
  )
})
