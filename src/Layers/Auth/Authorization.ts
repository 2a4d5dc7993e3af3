import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import { Authorization, CurrentUser, OwnPages } from "../../Api/Authorization.ts"
import { Forbidden, type RateLimited, Unauthenticated, type Unavailable } from "../../Schemas/Errors.ts"
import type { Caller } from "../../Schemas/Token.ts"
import { Auth } from "../../Services/Auth.ts"
import { Lifecycle } from "../../Services/Lifecycle.ts"
import { Rates } from "../../Services/Rates.ts"
import * as RequestFacts from "../../Services/RequestFacts.ts"
import { Settings } from "../../Services/Settings.ts"
import { mayAct } from "./Origin.ts"

/** Bearer token first; the cookie only where no `Authorization` header was sent at all. */
export const layer = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const auth = yield* Auth
    const lifecycle = yield* Lifecycle
    const rates = yield* Rates
    const { corsOrigins } = yield* Settings

    const authenticate = (secret: Redacted.Redacted) =>
      Effect.andThen(lifecycle.accepting, rates.admit(secret, auth.authenticate(secret)))

    const as = <E, E2, R>(
      httpEffect: Effect.Effect<HttpServerResponse, E, R>,
      caller: Effect.Effect<Caller, E2>
    ) =>
      Effect.flatMap(caller, (found) =>
        Effect.andThen(
          RequestFacts.tell(factsOf(found)),
          Effect.provideService(httpEffect, CurrentUser, found)
        )
      )

    // The framework tries both schemes and answers with the error of the last one.
    const refusedBearers = new WeakMap<object, RateLimited | Unauthenticated | Unavailable>()

    return Authorization.of({
      bearer: Effect.fnUntraced(function* (httpEffect, { credential }) {
        const request = yield* HttpServerRequest
        // Nothing of this scheme is there: the other one looks, so that the request counts once.
        if (request.headers.authorization === undefined) return yield* nobody
        return yield* as(
          httpEffect,
          Effect.tapError(authenticate(credential), (error) =>
            Effect.sync(() => refusedBearers.set(request, error))
          )
        )
      }),
      session: Effect.fnUntraced(function* (httpEffect, { credential }) {
        const request = yield* HttpServerRequest
        const refused = refusedBearers.get(request)
        if (request.headers.authorization !== undefined && refused !== undefined) return yield* refused
        if (mayAct(request.method, request.headers, corsOrigins)) {
          return yield* as(httpEffect, authenticate(credential))
        }
        yield* RequestFacts.tell(factsOf(yield* authenticate(credential)))
        return yield* new Forbidden({ error: "the session cookie is not accepted from another origin" })
      })
    })
  })
)

/** So that no page signs a browser in as somebody else. */
export const layerOwnPages = Layer.effect(
  OwnPages,
  Effect.gen(function* () {
    const lifecycle = yield* Lifecycle
    const { corsOrigins } = yield* Settings
    return OwnPages.of(
      Effect.fnUntraced(function* (httpEffect) {
        const { headers, method } = yield* HttpServerRequest
        yield* lifecycle.accepting
        if (mayAct(method, headers, corsOrigins)) return yield* httpEffect
        return yield* new Forbidden({ error: "a sign-in link is not accepted from another origin" })
      })
    )
  })
)

const nobody = new Unauthenticated({ error: "there is no bearer token" })

const factsOf = ({ id, token }: Caller) => ({ userId: id, tokenId: token.id })
