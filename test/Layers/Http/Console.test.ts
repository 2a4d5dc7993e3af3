import { createHash } from "node:crypto"
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Api } from "../../../src/Api/Api.ts"
import { BuiltConsole, type ConsoleFiles } from "../../../src/Services/ConsoleFiles.ts"
import { Lifecycle } from "../../../src/Services/Lifecycle.ts"
import { layerOffline } from "../../support/Service.ts"
import { isError, makeWeb } from "../../support/Web.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const index = '<!doctype html><script type="module" src="/console/index-1.js"></script>'
const script = "const a = 1\n".repeat(200)

const built: ConsoleFiles = new Map([
  [
    "index.html",
    { contentType: "text/html; charset=utf-8", etag: '"index"', body: bytes(index), encoded: {} }
  ],
  [
    "index-1.js",
    {
      contentType: "text/javascript; charset=utf-8",
      etag: '"script"',
      body: bytes(script),
      encoded: { br: brotliCompressSync(script), gzip: gzipSync(script) }
    }
  ],
  [
    "one-2.js",
    {
      contentType: "text/javascript; charset=utf-8",
      etag: '"one"',
      body: bytes("a()"),
      encoded: { gzip: gzipSync("a()") }
    }
  ]
])

const served = Layer.merge(layerOffline(), Layer.succeed(BuiltConsole, Effect.succeed(built)))
const html = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" }

describe("the console, as it is served", () => {
  it.effect("is the page at / for a browser, which asks each time whether it has changed", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const page = yield* send("GET", "/", { headers: html })
      assert.deepStrictEqual([page.status, page.text], [200, index])
      assert.strictEqual(page.headers.get("cache-control"), "no-cache")
      assert.strictEqual(page.headers.get("content-type"), "text/html; charset=utf-8")
      assert.strictEqual(page.headers.get("vary"), "Accept, Accept-Encoding")
      for (const known of ['"index"', 'W/"index"', '"other", "index"', "*"]) {
        const again = yield* send("GET", "/", { headers: { ...html, "if-none-match": known } })
        assert.deepStrictEqual(
          [again.status, again.text, again.headers.get("etag")],
          [304, "", '"index"'],
          known
        )
        assert.strictEqual(
          again.headers.get("content-security-policy"),
          page.headers.get("content-security-policy")
        )
      }
      const head = yield* send("HEAD", "/", { headers: html })
      assert.deepStrictEqual([head.status, head.text, head.headers.get("etag")], [200, "", '"index"'])
    }).pipe(Effect.provide(served))
  )

  it.effect("runs nothing but what is served here, and makes no markup of texts", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const { headers } = yield* send("GET", "/", { headers: html })
      const policy = new Map(
        (headers.get("content-security-policy") ?? "").split("; ").map((directive) => {
          const [name = "", ...sources] = directive.split(" ")
          return [name, sources.join(" ")]
        })
      )
      assert.deepStrictEqual(Object.fromEntries(policy), {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "font-src": "'self'",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'"
      })
      assert.strictEqual(headers.get("referrer-policy"), "no-referrer")
      assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
    }).pipe(Effect.provide(served))
  )

  it.effect("stays the sentence of ever for everybody else, at / and at every path that is none", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      for (const headers of [{}, { accept: "*/*" }, { accept: "application/json" }]) {
        const answer = yield* send("GET", "/", { headers })
        isError(answer, 404, "not_found")
        assert.include(answer.text, "its endpoints are under /api")
        assert.strictEqual(answer.headers.get("vary"), "Accept, Accept-Encoding")
      }
      for (const path of ["/runs", "/console", "/console/", "/index.html"])
        isError(yield* send("GET", path, { headers: html }), 404, "not_found")
    }).pipe(Effect.provide(served))
  )

  it.effect("sends its parts as small as a browser takes them, for ever", () =>
    Effect.gen(function* () {
      const { sendBytes } = yield* makeWeb
      const cases = [
        ["", null, "none"],
        ["gzip, deflate, br, zstd", "br", "br"],
        ["gzip;q=0.5", "gzip", "gzip"],
        ["br;q=0, gzip", "gzip", "gzip"],
        ["br;q=0.0, gzip;q=0", null, "none"],
        ["zstd, deflate", null, "none"]
      ] as const
      const unpack = { br: brotliDecompressSync, gzip: gunzipSync, none: (all: Buffer) => all }
      for (const [accepted, encoding, by] of cases) {
        const answer = yield* sendBytes("GET", "/console/index-1.js", {
          headers: { "accept-encoding": accepted }
        })
        assert.strictEqual(answer.status, 200)
        assert.strictEqual(answer.headers.get("content-encoding"), encoding, accepted)
        assert.strictEqual(unpack[by](answer.bytes).toString(), script)
        assert.strictEqual(answer.headers.get("content-length"), `${answer.bytes.length}`)
        assert.strictEqual(answer.headers.get("vary"), "Accept-Encoding")
        assert.strictEqual(answer.headers.get("cache-control"), "public, max-age=31536000, immutable")
        assert.strictEqual(answer.headers.get("content-type"), "text/javascript; charset=utf-8")
        assert.strictEqual(answer.headers.get("x-content-type-options"), "nosniff")
      }
      const one = yield* sendBytes("GET", "/console/one-2.js", { headers: { "accept-encoding": "br, gzip" } })
      assert.strictEqual(one.headers.get("content-encoding"), "gzip")
      const again = yield* sendBytes("GET", "/console/one-2.js", { headers: { "if-none-match": '"one"' } })
      assert.deepStrictEqual([again.status, again.bytes.length], [304, 0])
    }).pipe(Effect.provide(served))
  )

  it.effect("has no other files than its own, and takes no other methods", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const names = [
        "gone-3.js",
        "index.html",
        "..%2fmain.js",
        "%2e%2e%2fmain.js",
        "a%00.js",
        "__proto__",
        "%ff"
      ]
      for (const name of names) {
        const answer = yield* send("GET", `/console/${name}`, { headers: html })
        assert.oneOf(answer.status, [400, 404], name)
        assert.deepStrictEqual(Object.keys(answer.body as object), ["error"], name)
        // One that a node of another version has must not be missed later.
        if (answer.status === 404) assert.notInclude(answer.headers.get("cache-control") ?? "", "public")
      }
      isError(yield* send("GET", "/console/a/index-1.js"), 404, "not_found")
      const post = yield* send("POST", "/console/index-1.js", { json: {} })
      isError(post, 405, "method_not_allowed")
      assert.strictEqual(post.headers.get("allow"), "GET, HEAD")
    }).pipe(Effect.provide(served))
  )

  it.effect("goes on while the service stops, as it says what still can be asked", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      yield* (yield* Lifecycle).startDraining
      assert.strictEqual((yield* send("GET", "/health/ready")).status, 503)
      assert.strictEqual((yield* send("GET", "/", { headers: html })).text, index)
      assert.strictEqual((yield* send("GET", "/console/one-2.js")).text, "a()")
    }).pipe(Effect.provide(served))
  )

  it.effect("is no part of the contract: whatever it shows comes from the public API", () =>
    Effect.sync(() => {
      const paths = Object.values(Api.groups).flatMap((group) =>
        Object.values(group.endpoints).map(({ path }) => path)
      )
      assert.deepStrictEqual(
        paths.filter((path) => path.startsWith("/console")),
        []
      )
    })
  )

  it.effect("says how it is built where it was not, and leads to what there is", () =>
    Effect.gen(function* () {
      const { send } = yield* makeWeb
      const page = yield* send("GET", "/", { headers: html })
      assert.strictEqual(page.status, 200)
      for (const words of ["npm run build", "was not built", 'href="/docs"', 'href="/openapi.json"'])
        assert.include(page.text, words)
      const policy = page.headers.get("content-security-policy") ?? ""
      assert.notInclude(policy, "unsafe")
      const [, style = ""] = /<style>(.*?)<\/style>/su.exec(page.text) ?? []
      assert.include(policy, `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}';`)
      assert.strictEqual(page.headers.get("cache-control"), "no-store")
      isError(yield* send("GET", "/console/index-1.js"), 404, "not_found")
      isError(yield* send("GET", "/"), 404, "not_found")
    }).pipe(Effect.provide(layerOffline()))
  )
})
