import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type NotFound, notFound } from "../../../../Schemas/Errors.ts"
import type { Caller } from "../../../../Schemas/Token.ts"
import { Turns } from "../../../../Services/Turns.ts"
import { Workplace } from "../../../../Services/Workplace.ts"

/** A chat as a request names it. */
export interface Named {
  readonly agentId: string
  readonly chat: string
  readonly workspaceHeader: string | undefined
}

/** How much of a chat is read: to show it, and to find in it what is answered again. */
export const mostBytes = 2 * 1024 * 1024

/** Any other name is one of the client's own. */
export const isConversation = (chat: string): boolean => chat.startsWith("conv_")

/** Where a request belongs, and the chat that it names, if there is one. */
export const make = Effect.gen(function* () {
  const turns = yield* Turns
  const workplace = yield* Workplace
  return Effect.fnUntraced(function* (caller: Caller, { agentId, chat, workspaceHeader }: Named) {
    const place = yield* workplace.resolve(caller, {
      header: workspaceHeader,
      named: agentId,
      field: "agentId"
    })
    const found = turns.chat(caller, place.workspaceId, chat).pipe(
      Effect.asSome,
      Effect.catchTag("NotFound", () => Effect.succeedNone)
    )
    return { place, chat: yield* found }
  })
})

export const required = <A>(chat: Option.Option<A>): Effect.Effect<A, NotFound> =>
  Option.isSome(chat) ? Effect.succeed(chat.value) : notFound("chat")
