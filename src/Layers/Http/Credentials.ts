import * as Effect from "effect/Effect"
import * as HttpEffect from "effect/http/HttpEffect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Redacted from "effect/Redacted"
import { Api } from "../../Api/Api.ts"
import { ProviderKeys } from "../../Services/ProviderKeys.ts"
import { Tokens } from "../../Services/Tokens.ts"
import { data, removal } from "./Data.ts"

const cookieName = "session"

export const layer = HttpApiBuilder.group(
  Api,
  "credentials",
  Effect.fn(function* (handlers) {
    const providerKeys = yield* ProviderKeys
    const tokens = yield* Tokens
    return handlers.handleAll({
      providerKeys: ({ query }) => data((user) => providerKeys.list(user, query.workspaceId)),
      createProviderKey: ({ payload }) => data((user) => providerKeys.create(user, payload)),
      removeProviderKey: ({ params }) => removal((user) => providerKeys.remove(user, params.id)),
      tokens: () => data(tokens.list),
      createToken: ({ payload }) => data((user) => tokens.create(user, payload)),
      removeToken: ({ params }) => removal((user) => tokens.remove(user, params.id)),
      startSession: () =>
        data(
          Effect.fnUntraced(function* (user) {
            const { expiresAt, secret } = yield* tokens.startSession(user)
            yield* setCookie(Redacted.value(secret), expiresAt)
            return { userId: user.id, email: user.email, expiresAt }
          })
        ),
      endSession: () =>
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
        secure: request.headers["x-forwarded-proto"] === "https" || request.url.startsWith("https:"),
        path: "/",
        expires
      })
    )
  )
