import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import {
  Forbidden,
  type InvalidInput,
  type RateLimited,
  type Unauthenticated,
  type Unavailable
} from "../../Schemas/Errors.ts"
import { isOwnOrigin } from "../../Schemas/OwnOrigin.ts"
import type { Caller } from "../../Schemas/Token.ts"
import { Auth } from "../../Services/Auth.ts"
import { Lifecycle } from "../../Services/Lifecycle.ts"
import { Rates } from "../../Services/Rates.ts"
import * as RequestFacts from "../../Services/RequestFacts.ts"
import { Settings } from "../../Services/Settings.ts"
import { refusal } from "./Admission.ts"
import { onFirstUse } from "./Faces/Load.ts"
import { refuseOver } from "./JsonBody.ts"
import { problemResponse } from "./Problems.ts"
import { isJson } from "./Validation.ts"

const mostBytes = 1024 * 1024

type Refused = Forbidden | InvalidInput | RateLimited | Unauthenticated | Unavailable

const refused = (error: Refused): HttpServerResponse => {
  switch (error._tag) {
    case "InvalidInput":
      return problemResponse(400, {}, error.error)
    case "Forbidden":
      return problemResponse(403, {}, error.error)
    default:
      return refusal(error)
  }
}

/**
 * `/mcp`, which loads when it is first asked (CONTRACT.md section 14). By bearer token alone: a browser sends no such thing by
 * itself. A page is let in where it is one of this host's or of `AGENTD_CORS_ORIGINS`.
 */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const auth = yield* Auth
    const lifecycle = yield* Lifecycle
    const rates = yield* Rates
    const { corsOrigins } = yield* Settings
    const server = yield* onFirstUse(() => import("./Faces/Mcp/Server.ts"))

    const secretOf = ({ headers }: HttpServerRequest) =>
      Redacted.make(headers.authorization?.replace(/^bearer +/iu, "") ?? "")

    const admit = Effect.fnUntraced(function* (request: HttpServerRequest) {
      const secret = secretOf(request)
      yield* lifecycle.accepting
      const caller = yield* rates.admit(secret, auth.authenticate(secret))
      yield* RequestFacts.tell({ userId: caller.id, tokenId: caller.token.id })
      if (!isOwnOrigin(request.headers, corsOrigins)) {
        return yield* new Forbidden({ error: "Origin: this page is not let in" })
      }
      return caller
    })

    const admitted = (
      answer: (caller: Caller, request: HttpServerRequest) => Effect.Effect<HttpServerResponse, Refused>
    ) =>
      Effect.flatMap(HttpServerRequest, (request) =>
        Effect.flatMap(admit(request), (caller) => answer(caller, request)).pipe(
          Effect.catch((error) => Effect.succeed(refused(error)))
        )
      )

    const post = admitted(
      Effect.fnUntraced(function* (caller, request) {
        if (!isJson(request.headers)) return problemResponse(415)
        const tooLarge = yield* refuseOver(request, mostBytes)
        if (tooLarge !== undefined) return tooLarge
        const { post } = yield* server
        const answer = yield* post(caller, request.headers, yield* Effect.orDie(request.text))
        // Who has waited is answered by the rights that there are then, as by `Prefer: wait`.
        const { waitedMillis } = (yield* RequestFacts.CurrentRequest) ?? {}
        if (waitedMillis !== undefined) yield* auth.authenticate(secretOf(request))
        return answer
      })
    )

    const get = admitted(
      Effect.fnUntraced(function* (caller, request) {
        const { resume } = yield* server
        return (yield* resume(caller, request.headers)) ?? problemResponse(405, { allow: "POST" })
      })
    )

    return Layer.mergeAll(HttpRouter.add("POST", "/mcp", post), HttpRouter.add("GET", "/mcp", get))
  })
)
