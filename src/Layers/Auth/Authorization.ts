import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import { Authorization, CurrentUser } from "../../Api/Authorization.ts"
import { Forbidden, Unauthenticated } from "../../Schemas/Errors.ts"
import { Auth } from "../../Services/Auth.ts"
import { Lifecycle } from "../../Services/Lifecycle.ts"
import { isSameOrigin } from "./Origin.ts"

/** Bearer token first; the cookie only where no `Authorization` header was sent at all. */
export const layer = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const auth = yield* Auth
    const lifecycle = yield* Lifecycle

    const as = <E, R>(httpEffect: Effect.Effect<HttpServerResponse, E, R>, secret: Redacted.Redacted) =>
      lifecycle.accepting.pipe(
        Effect.andThen(auth.authenticate(secret)),
        Effect.flatMap((user) => Effect.provideService(httpEffect, CurrentUser, user))
      )

    return Authorization.of({
      bearer: (httpEffect, { credential }) => as(httpEffect, credential),
      session: Effect.fnUntraced(function* (httpEffect, { credential }) {
        const request = yield* HttpServerRequest
        if (request.headers.authorization !== undefined) {
          return yield* new Unauthenticated({ error: "the bearer token is not valid" })
        }
        if (isSameOrigin(request.method, request.headers)) return yield* as(httpEffect, credential)
        yield* auth.authenticate(credential)
        return yield* new Forbidden({ error: "the session cookie is not accepted from another origin" })
      })
    })
  })
)
