import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { errorCodeHeader } from "../../../../Api/Errors.ts"
import { InvalidInput } from "../../../../Schemas/Errors.ts"
import type { TurnFace } from "../../TurnFace.ts"

const notBuilt = Effect.succeed(
  HttpServerResponse.jsonUnsafe(
    { error: "not built yet" },
    { status: 501, headers: { [errorCodeHeader]: "not_built" } }
  )
)

/** Answers a conversation that the caller has. */
export const make = Effect.succeed<TurnFace<InvalidInput>>({
  send: () => Effect.fail(new InvalidInput({ error: "not built yet" })),
  answer: () => notBuilt
})
