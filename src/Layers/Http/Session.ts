import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Redacted from "effect/Redacted"
import { Api } from "../../Api/Api.ts"
import { CurrentUser } from "../../Api/Authorization.ts"
import type { User } from "../../Schemas/User.ts"
import { Rates } from "../../Services/Rates.ts"
import { Tokens } from "../../Services/Tokens.ts"
import { data } from "./Data.ts"
import { sessionOf, withSessionCookie } from "./SessionCookie.ts"

const answerSession = Effect.fnUntraced(function* (
  user: User,
  { expiresAt, secret }: { readonly secret: Redacted.Redacted; readonly expiresAt: Date }
) {
  const session = { userId: user.id, email: user.email, expiresAt }
  const response = HttpServerResponse.jsonUnsafe({ data: session }, { status: 201 })
  const cookie = { secret: Redacted.value(secret), expires: expiresAt }
  return yield* withSessionCookie(yield* HttpServerRequest, response, cookie)
})

export const layer = HttpApiBuilder.group(
  Api,
  "session",
  Effect.fn(function* (handlers) {
    const rates = yield* Rates
    const tokens = yield* Tokens
    return handlers.handleAll({
      start: Effect.fnUntraced(function* () {
        const user = yield* CurrentUser
        return yield* answerSession(user, yield* tokens.startSession(user))
      }),
      startByLink: Effect.fnUntraced(function* ({ payload }) {
        const code = Redacted.make(payload.code)
        const { session, ...user } = yield* rates.admit(code, tokens.startByLink(code))
        return yield* answerSession(user, session)
      }),
      get: () =>
        data(({ email, id, token }) =>
          Effect.succeed({ userId: id, email, tokenId: token.id, expiresAt: token.expiresAt })
        ),
      end: Effect.fnUntraced(function* () {
        const request = yield* HttpServerRequest
        yield* tokens.endSession(yield* CurrentUser, Redacted.make(sessionOf(request)))
        const response = HttpServerResponse.jsonUnsafe({ data: { success: true } })
        return yield* withSessionCookie(request, response, { secret: "", expires: new Date(0) })
      })
    })
  })
)
