import * as Digest from "effect/crypto/Digest"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as HttpPlatform from "effect/http/HttpPlatform"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { encodings, isKnown, takes } from "./Negotiation.ts"

/** A page as it is kept: what it is known by, and its bodies, each made once. */
interface Page {
  readonly etag: string
  readonly policy: string
  readonly bodies: ReadonlyMap<string, Uint8Array>
}

/**
 * What is the same for everybody as long as this process runs, and large: it is compressed once, named by a hash
 * of its content, and a browser that has it gets a 304. Its own scripts run and no others.
 */
export const layer = HttpRouter.middleware(
  Effect.gen(function* () {
    const { compression } = yield* HttpPlatform.HttpPlatform
    const digest = yield* Effect.provide(Digest.Digest, Digest.layerWebCrypto)
    const pages = new WeakMap<Uint8Array, Effect.Effect<Page>>()

    const hashOf = (content: Uint8Array) => Effect.map(digest.digest(Digest.sha256, content), Base64.encode)

    const make = Effect.fnUntraced(function* (
      response: HttpServerResponse.HttpServerResponse,
      body: Uint8Array
    ) {
      const known = encodings.filter((encoding) => compression.algorithms.has(encoding))
      const compressed = yield* Effect.forEach(known, (encoding) =>
        Effect.gen(function* () {
          const answer = yield* compression.compressResponse(response, encoding, { level: 9 })
          const bytes = yield* Effect.promise(() => HttpServerResponse.toWeb(answer).bytes())
          return [encoding as string, bytes] as const
        })
      )
      const scripts = new TextDecoder().decode(body).matchAll(/<script>(.*?)<\/script>/gs)
      const hashes = yield* Effect.forEach(scripts, ([, script = ""]) =>
        hashOf(new TextEncoder().encode(script))
      )
      return {
        etag: `"${(yield* hashOf(body)).slice(0, 22)}"`,
        policy: policyOf(hashes),
        bodies: new Map(compressed)
      }
    }, Effect.orDie)

    const pageOf = (response: HttpServerResponse.HttpServerResponse, body: Uint8Array) =>
      Effect.suspend(() => {
        const known = pages.get(body)
        if (known !== undefined) return known
        return Effect.flatMap(Effect.cached(make(response, body)), (page) => {
          pages.set(body, page)
          return page
        })
      })

    return (app) =>
      Effect.gen(function* () {
        const response = yield* app
        const { body } = response
        if (body._tag !== "Uint8Array") return response
        const { headers } = yield* HttpServerRequest
        const page = yield* pageOf(response, body.body)
        const head = {
          etag: page.etag,
          "cache-control": "no-cache",
          vary: "Accept-Encoding",
          "content-security-policy": page.policy
        }
        if (isKnown(headers["if-none-match"], page.etag))
          return HttpServerResponse.empty({ status: 304, headers: head })
        const contentType = typeOf(body.contentType)
        const encoding = encodings.find((name) => takes(headers["accept-encoding"], name))
        const bytes = page.bodies.get(encoding ?? "")
        if (encoding === undefined || bytes === undefined)
          return HttpServerResponse.setHeaders(response, { ...head, "content-type": contentType })
        return HttpServerResponse.uint8Array(bytes, {
          contentType,
          headers: { ...head, "content-encoding": encoding }
        })
      })
  })
).layer

/** What is text says that it is UTF-8; JSON is nothing else. */
const typeOf = (contentType: string): string =>
  contentType === "text/html" ? "text/html; charset=utf-8" : contentType

/** The page shows styles and pictures of its own making, and asks this service alone. */
const policyOf = (hashes: ReadonlyArray<string>): string =>
  [
    "default-src 'none'",
    `script-src ${hashes.length === 0 ? "'none'" : hashes.map((hash) => `'sha256-${hash}'`).join(" ")}`,
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; ")
