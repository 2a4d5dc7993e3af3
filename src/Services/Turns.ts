import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { StoredConversation, StoredMessage } from "../Schemas/Conversation.ts"
import { type NotFound, notFound, type RateLimited, type Unavailable } from "../Schemas/Errors.ts"
import type { ConversationId, RunId, WorkspaceId } from "../Schemas/Ids.ts"
import type { RunFinished, StoredRun } from "../Schemas/Run.ts"
import { endIdOf, endOf, type NumberedEvent } from "../Schemas/RunEvent.ts"
import type { Caller } from "../Schemas/Token.ts"
import type { TurnInput } from "../Schemas/TurnInput.ts"
import { Access } from "./Access.ts"
import { ConversationRepo } from "./ConversationRepo.ts"
import { RunEventRepo } from "./RunEventRepo.ts"
import { RunRepo } from "./RunRepo.ts"
import { Runs } from "./Runs.ts"

const batchesAtOnce = 100

/** A chat turn with where it answers; `reply` is there once it has ended with one. */
export interface TurnDetail {
  readonly run: StoredRun
  /** What it was asked beside its conversation; null: nothing. */
  readonly input: TurnInput | null
  readonly conversation: StoredConversation
  readonly reply: StoredMessage | null
}

/** What a caller does with the turns of chats, as the faces show them (CONTRACT.md section 14). */
export class Turns extends Context.Service<
  Turns,
  {
    /** For members of its workspace; a task is none. */
    readonly get: (caller: Caller, id: RunId) => Effect.Effect<TurnDetail, NotFound | Unavailable>
    /**
     * The conversation of this id, or the one that the caller's client calls so in that workspace, with the turn that
     * answers in it, or else was the last to.
     */
    readonly chat: (
      caller: Caller,
      workspaceId: WorkspaceId,
      chat: string
    ) => Effect.Effect<
      { readonly conversation: StoredConversation; readonly turn: StoredRun | null },
      NotFound | Unavailable
    >
    /**
     * The newest messages of a conversation that `chat` has answered, with what models are shown of them, in the order in
     * which they were written: as many as fit `maximumBytes` (and one more), 1,000 at most.
     */
    readonly messages: (
      conversation: StoredConversation,
      maximumBytes: number
    ) => Effect.Effect<ReadonlyArray<StoredMessage>, Unavailable>
    /** As `Runs.cancel`; a task is none. */
    readonly cancel: (caller: Caller, id: RunId) => Effect.Effect<void, NotFound | RunFinished | Unavailable>
    /** As `Runs.events`; a task is none. */
    readonly events: (
      caller: Caller,
      id: RunId,
      after: number
    ) => Effect.Effect<
      Option.Option<Stream.Stream<NumberedEvent>>,
      NotFound | RateLimited | Unavailable,
      Scope.Scope
    >
    /**
     * What a run told up to now, as far as it is kept, and its end if it was over as it is given; nothing where its events
     * are forgotten.
     */
    readonly told: (run: StoredRun) => Stream.Stream<NumberedEvent, Unavailable>
  }
>()("agentd/Services/Turns") {
  static readonly layer = Layer.effect(
    Turns,
    Effect.gen(function* () {
      const access = yield* Access
      const conversations = yield* ConversationRepo
      const events = yield* RunEventRepo
      const repo = yield* RunRepo
      const runs = yield* Runs

      const found = Effect.fnUntraced(function* (caller: Caller, id: RunId) {
        const run = yield* access.visible(caller, "turn", yield* repo.find(id))
        return run.turn === null ? yield* notFound("turn") : { run, turn: run.turn }
      })

      return Turns.of({
        get: Effect.fnUntraced(function* (caller, id) {
          const { run, turn } = yield* found(caller, id)
          const { conversationId, replyId } = turn
          const conversation = yield* conversations.find(conversationId)
          if (Option.isNone(conversation)) return yield* notFound("turn")
          const reply = yield* conversations.entry(conversationId, replyId)
          const input = run.input === "unread" ? Option.getOrNull(yield* repo.input(id)) : run.input
          return { run, input, conversation: conversation.value, reply: Option.getOrNull(reply) }
        }),
        chat: Effect.fnUntraced(function* (caller, workspaceId, chatId) {
          const byId = yield* conversations.find(chatId as ConversationId)
          const found = Option.isSome(byId)
            ? byId
            : yield* conversations.findChat({ workspaceId, ownerId: caller.id, chatId })
          const conversation = yield* access.visible(caller, "chat", found)
          if (conversation.workspaceId !== workspaceId) return yield* notFound("chat")
          const turnId = yield* conversations.latestTurn(conversation.id)
          const turn = Option.isNone(turnId) ? Option.none() : yield* repo.find(turnId.value)
          return { conversation, turn: Option.getOrNull(turn) }
        }),
        messages: ({ id }, maximumBytes) => conversations.history(id, maximumBytes),
        cancel: (caller, id) => Effect.andThen(found(caller, id), Effect.asVoid(runs.cancel(caller, id))),
        events: (caller, id, after) => Effect.andThen(found(caller, id), runs.events(caller, id, after)),
        told: (run) =>
          Stream.paginate(0, (after) =>
            Effect.map(events.read(run.id, after, batchesAtOnce), (found) => {
              const last = found.at(-1)
              if (last !== undefined) return [found, Option.some(last.id)] as const
              const end = endOf(run)
              const isForgotten = after === 0
              return [
                end === undefined || isForgotten ? [] : [{ id: endIdOf(run, after), event: end }],
                Option.none()
              ] as const
            })
          )
      })
    })
  )
}
