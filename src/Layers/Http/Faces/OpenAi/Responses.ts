import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { errorCodeHeader } from "../../../../Api/Errors.ts"
import { InvalidInput } from "../../../../Schemas/Errors.ts"
import type { Caller } from "../../../../Schemas/Token.ts"
import type { TurnFace } from "../../TurnFace.ts"

const notBuilt = Effect.succeed(
  HttpServerResponse.jsonUnsafe(
    { error: "not built yet" },
    { status: 501, headers: { [errorCodeHeader]: "not_built" } }
  )
)

const turns: TurnFace<InvalidInput> = {
  send: () => Effect.fail(new InvalidInput({ error: "not built yet" })),
  answer: () => notBuilt
}

/** Answers in a conversation that is stored here. */
export const make = Effect.succeed({
  ...turns,
  get: (_caller: Caller, _id: string, _query: Readonly<Record<string, string | undefined>>) => notBuilt,
  cancel: (_caller: Caller, _id: string) => notBuilt,
  remove: (_caller: Caller, _id: string) => notBuilt
})
