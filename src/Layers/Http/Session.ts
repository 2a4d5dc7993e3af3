import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Redacted from "effect/Redacted"
import { Api } from "../../Api/Api.ts"
import { Tokens } from "../../Services/Tokens.ts"
import { data, removal } from "./Data.ts"
import { sessionOf, setSession } from "./SessionCookie.ts"

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
            yield* setSession(Redacted.value(secret), expiresAt)
            return { userId: user.id, email: user.email, expiresAt }
          })
        ),
      end: () =>
        removal(
          Effect.fnUntraced(function* (user) {
            yield* tokens.endSession(user, Redacted.make(sessionOf(yield* HttpServerRequest)))
            yield* setSession("", new Date(0))
          })
        )
    })
  })
)
