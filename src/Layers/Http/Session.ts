import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Redacted from "effect/Redacted"
import { Api } from "../../Api/Api.ts"
import { CurrentUser } from "../../Api/Authorization.ts"
import { Tokens } from "../../Services/Tokens.ts"
import { sessionOf, withSessionCookie } from "./SessionCookie.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "session",
  Effect.fn(function* (handlers) {
    const tokens = yield* Tokens
    return handlers.handleAll({
      start: Effect.fnUntraced(function* () {
        const user = yield* CurrentUser
        const { expiresAt, secret } = yield* tokens.startSession(user)
        const session = { userId: user.id, email: user.email, expiresAt }
        const response = HttpServerResponse.jsonUnsafe({ data: session }, { status: 201 })
        const cookie = { secret: Redacted.value(secret), expires: expiresAt }
        return yield* withSessionCookie(yield* HttpServerRequest, response, cookie)
      }),
      end: Effect.fnUntraced(function* () {
        const request = yield* HttpServerRequest
        yield* tokens.endSession(yield* CurrentUser, Redacted.make(sessionOf(request)))
        const response = HttpServerResponse.jsonUnsafe({ data: { success: true } })
        return yield* withSessionCookie(request, response, { secret: "", expires: new Date(0) })
      })
    })
  })
)
