import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { layerOffline, makeTenant } from "../../support/Service.ts"
import { type Answer, isError, makeWeb } from "../../support/Web.ts"

const unpacked = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
  identity: (bytes: Uint8Array) => Buffer.from(bytes)
}

describe("how answers are sent", () => {
  it.effect(
    "says of every answer that it is what it says, in no frame, without scripts, for nobody to keep",
    () =>
      Effect.gen(function* () {
        const { send } = yield* makeWeb
        const { token, workspaceId } = yield* makeTenant()
        const everywhere = {
          "x-content-type-options": "nosniff",
          "referrer-policy": "no-referrer",
          "content-security-policy":
            "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        }
        const cases = [
          [yield* send("GET", `/api/agents?workspaceId=${workspaceId}`, { token }), 200, "no-store"],
          [yield* send("GET", "/api/agents"), 401, "no-store"],
          [yield* send("GET", "/api/nothing", { token }), 404, "no-store"],
          [yield* send("GET", "/%61p%69/tokens", { token }), 200, "no-store"],
          [yield* send("GET", "/api?a=b"), 401, "no-store"],
          [
            yield* send("POST", "/api/chat/messages", { token, json: { workspaceId, content: "a" } }),
            200,
            "no-cache"
          ],
          [yield* send("GET", "/health/live"), 200, null],
          [yield* send("GET", "/metrics"), 200, null],
          [yield* send("GET", "/absent"), 404, null]
        ] as const
        for (const [answer, status, cacheControl] of cases) {
          assert.strictEqual(answer.status, status, answer.text)
          assert.strictEqual(answer.headers.get("cache-control"), cacheControl)
          for (const [name, value] of Object.entries(everywhere))
            assert.strictEqual(answer.headers.get(name), value)
        }
      }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("asks a browser that came over https never to come in the clear again, and nobody else", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const json = { workspaceId, content: "a" }
      const answersOver = (headers: Readonly<Record<string, string>>, origin = "http://agentd.test") =>
        Effect.all([
          send("GET", "/", { headers: { accept: "text/html", ...headers }, origin }),
          send("GET", "/docs", { headers, origin }),
          send("GET", "/absent", { headers, origin }),
          send("GET", "/api/agents", { headers, origin }),
          send("POST", "/api/chat/messages", { token, headers, origin, json })
        ])
      const policies = (answers: ReadonlyArray<Answer>) =>
        new Set(answers.map(({ headers }) => headers.get("strict-transport-security")))
      const always = new Set(["max-age=31536000; includeSubDomains"])
      assert.deepStrictEqual(policies(yield* answersOver({ "x-forwarded-proto": "https" })), always)
      assert.deepStrictEqual(policies(yield* answersOver({}, "https://agentd.test")), always)
      assert.deepStrictEqual(policies(yield* answersOver({})), new Set([null]))
      assert.deepStrictEqual(policies(yield* answersOver({ "x-forwarded-proto": "http" })), new Set([null]))
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect(
    "says of texts that they are UTF-8, and of pages that nothing may turn their links or forms",
    () =>
      Effect.gen(function* () {
        const { send } = yield* makeWeb
        const headers = { accept: "text/html" }
        for (const path of ["/", "/docs", "/metrics", "/favicon.ico"]) {
          const answer = yield* send("GET", path, { headers })
          assert.match(answer.headers.get("content-type") ?? "", /^[\w/+]+;.* ?charset=utf-8$/, path)
          const policy = answer.headers.get("content-security-policy") ?? ""
          for (const directive of ["default-src", "base-uri", "form-action", "frame-ancestors"])
            assert.include(policy, `${directive} 'none'`, path)
        }
      }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("compresses JSON of more than 1 KiB, and nothing shorter", () =>
    Effect.gen(function* () {
      const { sendBytes } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const json = { workspaceId, name: "a", systemPrompt: "long ".repeat(500) }
      const long = yield* sendBytes("POST", "/api/agents", {
        token,
        json,
        headers: { "accept-encoding": "gzip" }
      })
      assert.strictEqual(long.headers.get("content-encoding"), "gzip")
      assert.strictEqual(long.headers.get("vary"), "Accept-Encoding")
      assert.include(gunzipSync(long.bytes).toString(), json.systemPrompt.trim())
      const plain = yield* sendBytes("POST", "/api/agents", { token, json })
      assert.strictEqual(plain.headers.get("content-encoding"), null)
      const short = yield* sendBytes("GET", "/health/live", { headers: { "accept-encoding": "gzip" } })
      assert.strictEqual(short.headers.get("content-encoding"), null)
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("never compresses a stream, which would hold its events back", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { token, workspaceId } = yield* makeTenant()
      const json = { workspaceId, content: "long ".repeat(1_000) }
      const chat = yield* send("POST", "/api/chat/messages", {
        token,
        json,
        headers: { "accept-encoding": "br, gzip" }
      })
      assert.strictEqual(chat.headers.get("content-encoding"), null)
      assert.include(chat.text, "event: done")
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("sends /docs and /openapi.json compressed, and again only when they have changed", () =>
    Effect.gen(function* () {
      const { sendBytes } = yield* makeWeb
      for (const path of ["/docs", "/openapi.json"]) {
        const whole = yield* sendBytes("GET", path)
        const etag = whole.headers.get("etag") ?? ""
        assert.match(etag, /^"[\w+/]{22}"$/)
        for (const [encoding, unpack] of Object.entries(unpacked)) {
          const headers = { "accept-encoding": `${encoding};q=0.5, zstd` }
          const packed = yield* sendBytes("GET", path, { headers })
          assert.strictEqual(packed.headers.get("content-encoding") ?? "identity", encoding)
          assert.strictEqual(packed.headers.get("etag"), etag)
          assert.isTrue(unpack(packed.bytes).equals(whole.bytes), `${path} as ${encoding}`)
          if (encoding !== "identity") assert.isBelow(packed.bytes.length, whole.bytes.length / 3)
        }
        const refused = yield* sendBytes("GET", path, {
          headers: { "accept-encoding": "br;q=0, gzip;q=0.0" }
        })
        assert.strictEqual(refused.headers.get("content-encoding"), null)
        for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
          const again = yield* sendBytes("GET", path, { headers: { "if-none-match": known } })
          assert.deepStrictEqual(
            [again.status, again.bytes.length, again.headers.get("etag")],
            [304, 0, etag]
          )
        }
        assert.strictEqual(
          (yield* sendBytes("GET", path, { headers: { "if-none-match": '"other"' } })).status,
          200
        )
      }
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("lets /docs run its own scripts, and no page any other", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const policyOf = (path: string) =>
        Effect.map(send("GET", path), ({ headers }) => headers.get("content-security-policy") ?? "")
      assert.match(yield* policyOf("/docs"), /script-src 'sha256-[^']+' 'sha256-[^']+';/)
      assert.include(yield* policyOf("/openapi.json"), "script-src 'none'")
      assert.notInclude(yield* policyOf("/docs"), "unsafe-eval")
    }).pipe(Effect.provide(layerOffline()))
  )

  it.effect("says what it is where somebody opens its address", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const html = yield* send("GET", "/", { headers: { accept: "text/html,*/*;q=0.8" } })
      assert.strictEqual(html.status, 200)
      assert.include(html.headers.get("content-type"), "text/html")
      for (const path of ["/docs", "/openapi.json", "/health/ready"]) assert.include(html.text, `"${path}"`)
      for (const headers of [{}, { accept: "*/*" }, { accept: "application/json" }]) {
        const json = yield* send("GET", "/", { headers })
        isError(json, 404, "not_found")
        assert.match(json.text, /agentd \d+\.\d+\.\d+.*\/docs/)
      }
      isError(yield* send("POST", "/"), 405, "method_not_allowed")
      const icon = yield* send("GET", "/favicon.ico")
      assert.deepStrictEqual(
        [icon.status, icon.headers.get("content-type")],
        [200, "image/svg+xml; charset=utf-8"]
      )
    }).pipe(Effect.provide(layerOffline()))
  )
})
