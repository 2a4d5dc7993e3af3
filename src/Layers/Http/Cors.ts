import * as Effect from "effect/Effect"
import * as HttpMiddleware from "effect/http/HttpMiddleware"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Cors from "../../Schemas/Cors.ts"

/** What a page may read of an answer beside its body and what browsers show of any. */
const exposedHeaders = [
  "X-Request-Id",
  "X-Error-Code",
  "RateLimit",
  "RateLimit-Policy",
  "Retry-After",
  "X-Next-After",
  "Idempotency-Replayed",
  "Preference-Applied",
  "Allow",
  "WWW-Authenticate",
  "Mcp-Session-Id",
  "X-Vercel-AI-UI-Message-Stream"
]

/** In seconds; longer than this Chromium does not remember a preflight. */
const maxAge = 7_200

const options = {
  allowedMethods: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
  // Those that are asked for: every client has some of its own, and who may ask at all may say what it likes.
  allowedHeaders: [],
  exposedHeaders,
  maxAge
}

const ofAny = HttpMiddleware.cors(options)
const ofNamed = HttpMiddleware.cors({ ...options, allowedOrigins: () => true })
const withCookie = HttpMiddleware.cors({ ...options, allowedOrigins: () => true, credentials: true })
/** Says that answers differ by origin, so that none is kept for another. */
const ofNobody = HttpMiddleware.cors({ allowedOrigins: () => false })

/**
 * Lets browsers show every answer, whatever it is, to pages of these origins, and answers their preflights (204) before
 * anything is asked for: no credential, rate or body (CONTRACT.md section 14). `OPTIONS` of others goes on to the routes.
 */
export const make = (
  origins: Cors.Origins
): (<E, R>(
  app: Effect.Effect<HttpServerResponse, E, R>
) => Effect.Effect<HttpServerResponse, E, R | HttpServerRequest>) => {
  if (origins !== "any" && origins.size === 0) return (app) => app
  return (app) =>
    Effect.flatMap(HttpServerRequest, ({ headers, method }) => {
      const { origin } = headers
      const isAllowed = origin !== undefined && (origins === "any" || Cors.isNamed(origins, origin))
      const isPreflight = headers["access-control-request-method"] !== undefined && isAllowed
      if (method === "OPTIONS" && !isPreflight) return app
      if (origins === "any") return ofAny(app)
      if (!isAllowed) return ofNobody(app)
      const mayBringCookie = Cors.mayBringCookie(origins, origin, headers["x-forwarded-proto"])
      return mayBringCookie ? withCookie(app) : ofNamed(app)
    })
}
