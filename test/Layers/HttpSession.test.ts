import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { layerOffline, makeTenant } from "../support/Service.ts"
import { type Answer, dataOf, makeWeb } from "../support/Web.ts"

/** The one cookie that an answer sets: its value, and its attributes in lower case. */
const cookieOf = ({ headers }: Answer) => {
  const [cookie, ...others] = headers.getSetCookie()
  assert.deepStrictEqual(others, [])
  const [pair = "", ...attributes] = (cookie ?? assert.fail("no cookie is set")).split("; ")
  assert.isTrue(pair.startsWith("session="))
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
        Effect.map(
          send("POST", "/api/session", { token, headers, origin }),
          (answer) => "secure" in cookieOf(answer).attributes
        )
      assert.isTrue(yield* isSecure(https))
      assert.isTrue(yield* isSecure({}, "https://agentd.test"))
      assert.isFalse(yield* isSecure({}))
      assert.isFalse(yield* isSecure({ "x-forwarded-proto": "http" }))
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("is taken back with the session", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const { pair: cookie } = cookieOf(yield* send("POST", "/api/session", { token }))
      const ended = yield* send("DELETE", "/api/session", { headers: { cookie, ...https } })
      assert.deepStrictEqual(cookieOf(ended), {
        pair: "session=",
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
})
