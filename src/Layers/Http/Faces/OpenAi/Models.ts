import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { errorCodeHeader } from "../../../../Api/Errors.ts"
import type { Caller } from "../../../../Schemas/Token.ts"

const notBuilt = Effect.succeed(
  HttpServerResponse.jsonUnsafe(
    { error: "not built yet" },
    { status: 501, headers: { [errorCodeHeader]: "not_built" } }
  )
)

/** The agents as models. */
export const make = Effect.succeed({
  list: (_caller: Caller, _workspaceHeader: string | undefined) => notBuilt,
  get: (_caller: Caller, _model: string, _workspaceHeader: string | undefined) => notBuilt
})
