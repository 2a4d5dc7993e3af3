import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Redacted from "effect/Redacted"
import type { RateLimited, Unauthenticated, Unavailable } from "../../Schemas/Errors.ts"
import { rateHeaders } from "../../Schemas/Rate.ts"
import { Auth } from "../../Services/Auth.ts"
import { Rates } from "../../Services/Rates.ts"
import * as RequestFacts from "../../Services/RequestFacts.ts"
import { problemResponse } from "./Problems.ts"

/** The refusal of a request that no endpoint answers, if its credential is refused. */
export const makeRefuse = Effect.gen(function* () {
  const auth = yield* Auth
  const rates = yield* Rates
  return (request: HttpServerRequest) => {
    const secret = credentialOf(request)
    // A browser asks so what it may send, without a credential: it costs nothing, and is not counted.
    if (request.method === "OPTIONS" && Redacted.value(secret) === "") {
      return Effect.succeed(problemResponse(401))
    }
    return rates.admit(secret, auth.authenticate(secret)).pipe(
      Effect.andThen(({ id, token }) => RequestFacts.tell({ userId: id, tokenId: token.id })),
      Effect.match({ onSuccess: () => undefined, onFailure: refusal })
    )
  }
})

/** The answer with how its bucket stands; what is not counted for a token is told of the address. */
export const makeWithRate = Effect.gen(function* () {
  const rates = yield* Rates
  return (response: HttpServerResponse.HttpServerResponse, facts: RequestFacts.RequestFacts) =>
    Effect.map(
      facts.rate === undefined && facts.tokenId === undefined ? rates.ofAddress : Effect.succeed(facts.rate),
      (rate) => (rate === undefined ? response : HttpServerResponse.setHeaders(response, rateHeaders(rate)))
    )
})

export const refusal = (error: RateLimited | Unauthenticated | Unavailable) => {
  if (error._tag === "RateLimited") {
    return problemResponse(429, { "retry-after": String(error.retryAfter ?? 1) }, error.error)
  }
  return problemResponse(error._tag === "Unavailable" ? 503 : 401)
}

/** The credential of a request, as `Authorization` or the cookie has it; empty without one. */
export const credentialOf = ({ cookies, headers }: HttpServerRequest) =>
  Redacted.make(headers.authorization?.replace(/^bearer +/iu, "") ?? cookies.session ?? "")
