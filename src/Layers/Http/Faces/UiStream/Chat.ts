import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import type { StoredConversation } from "../../../../Schemas/Conversation.ts"
import { isTerminal, type StoredRun } from "../../../../Schemas/Run.ts"
import type { Caller } from "../../../../Schemas/Token.ts"
import { isOfResults, toUiMessages } from "../../../../Schemas/UiStream/Messages.ts"
import { replayed } from "../../../../Schemas/UiStream/Replay.ts"
import { readRequest } from "../../../../Schemas/UiStream/Request.ts"
import { Turns } from "../../../../Services/Turns.ts"
import { problemResponse } from "../../Problems.ts"
import type { BegunTurn, TurnRequest } from "../../TurnFace.ts"
import * as Find from "./Find.ts"
import * as Send from "./Send.ts"
import * as Tell from "./Tell.ts"
import * as Wire from "./Wire.ts"

/** Chats as `useChat` of the AI SDK speaks (CONTRACT.md section 14). */
export const make = Effect.gen(function* () {
  const turns = yield* Turns
  const tell = yield* Tell.make
  const find = yield* Find.make
  const send = yield* Send.make

  /** A turn that goes on with the client's results is told behind what the message holds before it. */
  const beginningOf = Effect.fnUntraced(function* (run: StoredRun, conversation: StoredConversation) {
    const ofReply = { messageId: run.turn?.replyId ?? "", before: [] }
    if (run.prompt !== "") return ofReply
    const stored = yield* turns.messages(conversation, Find.mostBytes)
    const asked = stored.findLastIndex(isOfResults)
    const message = toUiMessages(stored.slice(0, asked + 1)).at(-1)
    return message?.role !== "assistant"
      ? ofReply
      : { messageId: message.id, before: replayed(message.parts) }
  })

  const nothing = HttpServerResponse.empty({ status: 204 })

  return {
    send,
    /** A message that the client has goes on; any other is told from its beginning. */
    answer: (turn: BegunTurn, { payload }: TurnRequest) =>
      Effect.gen(function* () {
        const { last } = yield* Effect.fromResult(readRequest(payload))
        const { input, run } = yield* turns.get(turn.caller, turn.turnId)
        const going =
          last.role === "assistant"
            ? { messageId: last.id, answered: last.answered }
            : { messageId: run.turn?.replyId ?? "", answered: [] }
        return yield* Wire.response(tell({ ...turn, ...going, run, input, before: [] }))
      }).pipe(
        Effect.catchTags({
          InvalidInput: ({ error }) => Effect.succeed(problemResponse(400, {}, error)),
          NotFound: () =>
            Effect.succeed(problemResponse(404, {}, "the answer to this message is not there any more")),
          Unavailable: () => Effect.succeed(problemResponse(503))
        })
      ),
    /** What is under way, from the beginning of its message; no content where nothing is. */
    resume: Effect.fnUntraced(function* (caller: Caller, named: Find.Named) {
      const { chat } = yield* find(caller, named)
      if (Find.isConversation(named.chat)) yield* Find.required(chat)
      // A page may ask for a chat that it is about to begin.
      if (Option.isNone(chat)) return nothing
      const { conversation, turn } = chat.value
      if (turn === null || isTerminal(turn.status)) return nothing
      const events = yield* turns.events(caller, turn.id, 0)
      if (Option.isNone(events)) return nothing
      const { input, run } = yield* turns.get(caller, turn.id)
      const beginning = yield* beginningOf(run, conversation)
      return yield* Wire.response(
        tell({ caller, run, input, ...beginning, answered: [], events: events.value })
      )
    }),
    messages: Effect.fnUntraced(function* (caller: Caller, named: Find.Named) {
      const { conversation, turn } = yield* Find.required((yield* find(caller, named)).chat)
      const messages = toUiMessages(yield* turns.messages(conversation, Find.mostBytes))
      return HttpServerResponse.jsonUnsafe({
        id: named.chat,
        conversationId: conversation.id,
        agentId: conversation.agentId,
        title: conversation.title,
        isAnswering: turn !== null && !isTerminal(turn.status),
        messages
      })
    }),
    stop: Effect.fnUntraced(function* (caller: Caller, named: Find.Named) {
      const { turn } = yield* Find.required((yield* find(caller, named)).chat)
      const isOver = turn === null || isTerminal(turn.status)
      // It may have been faster.
      const cancelled = isOver ? Effect.succeed(false) : Effect.as(turns.cancel(caller, turn.id), true)
      const stopped = yield* Effect.catchTag(cancelled, "RunFinished", () => Effect.succeed(false))
      return HttpServerResponse.jsonUnsafe({ stopped })
    })
  }
})
