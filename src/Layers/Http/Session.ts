import * as Effect from "effect/Effect"
import * as HttpEffect from "effect/http/HttpEffect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Redacted from "effect/Redacted"
import { Api } from "../../Api/Api.ts"
import { Tokens } from "../../Services/Tokens.ts"
import { data, removal } from "./Data.ts"

const cookieName = "session"

export const layer = HttpApiBuilder.group(
  Api,
  "session",
  Effect.fn(function* (handlers) {
    const tokens = yield* Tokens
    return handlers.handleAll({
      start: () =>
        data(
          Effect.fnUntraced(function* (user) {
            const { expiresAt, secret } = yield* tokens.startSession(user)
            yield* setCookie(Redacted.value(secret), expiresAt)
            return { userId: user.id, email: user.email, expiresAt }
          })
        ),
      end: () =>
        removal(
          Effect.fnUntraced(function* () {
            const { cookies } = yield* HttpServerRequest
            yield* tokens.endSession(Redacted.make(cookies[cookieName] ?? ""))
            yield* setCookie("", new Date(0))
          })
        )
    })
  })
)

/** Secure where the browser came over https, by itself or through a proxy that says so. */
const setCookie = (value: string, expires: Date) =>
  HttpEffect.appendPreResponseHandler((request, response) =>
    Effect.orDie(
      HttpServerResponse.setCookie(response, cookieName, value, {
        httpOnly: true,
        sameSite: "lax",
        secure: request.headers["x-forwarded-proto"] === "https" || request.originalUrl.startsWith("https:"),
        path: "/",
        expires
      })
    )
  )
