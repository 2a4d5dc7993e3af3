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

interface Named {
  readonly agentId: string
  readonly chat: string
  readonly workspaceHeader: string | undefined
}

/** Chats as `useChat` speaks. */
export const make = Effect.succeed({
  ...turns,
  resume: (_caller: Caller, _chat: Named) => notBuilt,
  messages: (_caller: Caller, _chat: Named) => notBuilt,
  stop: (_caller: Caller, _chat: Named) => notBuilt
})
