import * as Effect from "effect/Effect"
import * as Headers from "effect/http/Headers"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { isForwardedHttps } from "../../Schemas/Session.ts"

const plainName = "session"
/** Over https: no other host of the domain can set it, and it is never sent in the clear. */
const secureName = "__Host-session"

/** Whether the browser came over https, by itself or through proxies, of which the first says so. */
export const isHttps = ({ headers, originalUrl }: HttpServerRequest): boolean =>
  isForwardedHttps(headers["x-forwarded-proto"]) || originalUrl.startsWith("https:")

/** The request with the session that it has over https as the cookie that the contract names; that one counts. */
export const withSession = (request: HttpServerRequest): HttpServerRequest => {
  if (!request.headers.cookie?.includes(secureName)) return request
  const session = request.cookies[secureName]
  return session === undefined
    ? request
    : request.modify({ headers: Headers.set(request.headers, "cookie", `${plainName}=${session}`) })
}

/** The secret of a session, empty where there is none. */
export const sessionOf = ({ cookies }: HttpServerRequest): string => cookies[plainName] ?? ""

/** The answer with the cookie of a session; with an end that is over it is taken back. */
export const withSessionCookie = (
  request: HttpServerRequest,
  response: HttpServerResponse.HttpServerResponse,
  { expires, secret }: { readonly secret: string; readonly expires: Date }
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const secure = isHttps(request)
  return Effect.orDie(
    HttpServerResponse.setCookie(response, secure ? secureName : plainName, secret, {
      httpOnly: true,
      sameSite: "lax",
      secure,
      path: "/",
      expires
    })
  )
}
