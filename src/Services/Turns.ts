import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import type { Agent } from "../Schemas/Agent.ts"
import { type ChatEvent, errorEvent } from "../Schemas/ChatEvent.ts"
import { type Message, type StoredConversation, toPrompt } from "../Schemas/Conversation.ts"
import type { ConversationId, MessageId, ProviderKeyId, TurnId } from "../Schemas/Ids.ts"
import { modelChoice } from "../Schemas/ModelChoice.ts"
import { cutResults } from "../Schemas/Prompt.ts"
import { AgentLoop, type LoopEvent } from "./AgentLoop.ts"
import { ConversationRepo } from "./ConversationRepo.ts"
import { now } from "./CurrentTime.ts"
import { Ids } from "./Ids.ts"
import { turnsFinished } from "./Metrics.ts"
import { noJournal } from "./RunJournal.ts"
import { Settings } from "./Settings.ts"
import { permitAll } from "./ToolCalls.ts"
import { ToolSource } from "./ToolSource.ts"
import type { TurnEvents } from "./TurnEvents.ts"

/** A message that waits for its answer. The conversation must be claimed for `turnId`. */
export interface Turn {
  readonly turnId: TurnId
  readonly conversation: StoredConversation
  readonly agent: Agent | null
  readonly providerKeyId: ProviderKeyId | null
  readonly events: TurnEvents
}

/** The turns that this process is answering. */
export class Turns extends Context.Service<
  Turns,
  {
    /**
     * Answers in the background, whoever reads the events: the reply is stored before `done`. Whatever
     * happens, the events end with exactly one of `done` and `error`, and the claim ends.
     */
    readonly start: (turn: Turn) => Effect.Effect<void>
    /** Ends the turn of a conversation, if it is answered here, with this event. */
    readonly end: (id: ConversationId, event: ChatEvent) => Effect.Effect<void>
    /** Waits `millis` at most for the turns under way, then ends those that are left with `error`. */
    readonly drain: (millis: number) => Effect.Effect<void>
  }
>()("agentd/Services/Turns") {
  static readonly layer = Layer.effect(
    Turns,
    Effect.gen(function* () {
      const conversations = yield* ConversationRepo
      const ids = yield* Ids
      const loop = yield* AgentLoop
      const settings = yield* Settings
      const toolSource = yield* ToolSource
      const running = yield* FiberMap.make<TurnId, void, never>()
      const endings = new Map<
        TurnId,
        { readonly id: ConversationId; readonly ending: Deferred.Deferred<ChatEvent> }
      >()

      // Claims that a former process of this name left behind are nobody's now.
      yield* conversations.releaseTurns(settings.worker)

      const answer = Effect.fn("Turns.answer")(function* (turn: Turn) {
        const { conversation } = turn
        const messageId = yield* ids.make<MessageId>("message")
        const result = yield* loop.run({
          request: {
            choice: modelChoice(conversation.workspaceId, turn.agent, turn),
            system: turn.agent?.systemPrompt ?? null,
            messages: (yield* conversations.history(conversation.id, settings.historyTokens * 4)).flatMap(
              toPrompt
            )
          },
          tools: yield* toolSource.tools({ ...conversation, connectorIds: null }),
          journal: noJournal,
          key: turn.turnId,
          permit: permitAll,
          patiently: (effect) => effect,
          emit: (event) =>
            Option.match(toChatEvent(messageId, event), {
              onNone: () => Effect.void,
              onSome: turn.events.offer
            })
        })
        const message: Message = {
          id: messageId,
          role: "ASSISTANT",
          content: result.text,
          createdAt: yield* now
        }
        const stored = yield* conversations.finishTurn(conversation.id, turn.turnId, message, {
          parts: result.transcript.map((part) => cutResults(part, settings.historyTokens)),
          usage: result.usage
        })
        return stored ? doneEvent(conversation.id, message, result.usage) : conversationGone
      })

      const keepClaim = ({ conversation, turnId }: Turn) =>
        conversations.renewTurn(conversation.id, turnId, settings.leaseMillis).pipe(
          Effect.catch((error) => Effect.as(Effect.logWarning("turn not renewed", error.error), true)),
          Effect.delay(settings.leaseMillis / 3),
          Effect.repeat({ while: (kept) => kept }),
          Effect.as(conversationGone)
        )

      const perform = (turn: Turn, ending: Deferred.Deferred<ChatEvent>) =>
        answer(turn).pipe(
          Effect.catchTags({
            InferenceError: ({ error, reason }) =>
              Effect.as(
                Effect.logWarning("a model gave no answer", { reason, error }),
                errorEvent(`inference_${reason}`, error)
              ),
            LimitExceeded: ({ error, limit }) => Effect.succeed(errorEvent(`${limit}_exceeded`, error)),
            ApprovalNeeded: (needed) => Effect.die(needed),
            OwnershipLost: () => Effect.succeed(conversationGone),
            Unavailable: ({ error }) => Effect.succeed(errorEvent("unavailable", error))
          }),
          Effect.raceFirst(keepClaim(turn)),
          Effect.raceFirst(Deferred.await(ending))
        )

      const close = (turn: Turn, event: ChatEvent) =>
        (event.event === "done"
          ? Effect.void
          : Effect.asVoid(conversations.finishTurn(turn.conversation.id, turn.turnId, null))
        ).pipe(
          Effect.catch((error) => Effect.logWarning("claim not ended", error.error)),
          Effect.andThen(turn.events.offer(event)),
          Effect.andThen(Metric.update(Metric.withAttributes(turnsFinished, { ending: event.event }), 1)),
          Effect.ensuring(Effect.sync(() => endings.delete(turn.turnId)))
        )

      return Turns.of({
        start: Effect.fn("Turns.start")(function* (turn) {
          const ending = yield* Deferred.make<ChatEvent>()
          endings.set(turn.turnId, { id: turn.conversation.id, ending })
          yield* Effect.uninterruptibleMask((restore) =>
            restore(perform(turn, ending)).pipe(
              Effect.catchCause((cause) =>
                Cause.hasInterruptsOnly(cause)
                  ? Effect.succeed(stopping)
                  : Effect.as(Effect.logError("a chat turn failed", cause), internalError)
              ),
              Effect.flatMap((event) => close(turn, event))
            )
          ).pipe(
            Effect.annotateLogs({ conversation: turn.conversation.id, turn: turn.turnId }),
            FiberMap.run(running, turn.turnId)
          )
        }),
        end: Effect.fn("Turns.end")(function* (id, event) {
          for (const turn of endings.values()) {
            if (turn.id === id) yield* Deferred.succeed(turn.ending, event)
          }
        }),
        drain: Effect.fn("Turns.drain")(function* (millis) {
          yield* Effect.timeoutOption(FiberMap.awaitEmpty(running), millis)
          for (const { ending } of endings.values()) yield* Deferred.succeed(ending, stopping)
          yield* Effect.timeoutOption(FiberMap.awaitEmpty(running), settings.databaseTimeoutMillis)
        })
      })
    })
  )
}

const conversationGone = errorEvent("conversation_deleted", "the conversation was deleted")
const stopping = errorEvent("unavailable", "the service is stopping; ask again")
const internalError = errorEvent("internal_error", "internal error")

const doneEvent = (
  conversationId: ConversationId,
  message: Message,
  usage: { readonly inputTokens: number; readonly outputTokens: number }
): ChatEvent => ({ event: "done", data: { conversationId, message, usage } })

const toChatEvent = (messageId: MessageId, event: LoopEvent): Option.Option<ChatEvent> => {
  switch (event.type) {
    case "thinking":
      return Option.some({ event: "status", data: { status: "thinking" } })
    case "text":
      return Option.some({ event: "status", data: { status: "responding", messageId, delta: event.delta } })
    case "tool_call": {
      const { arguments: argument, id, name } = event.call
      return Option.some({ event: "tool_call", data: { id, name, arguments: argument } })
    }
    case "tool_result":
      return Option.some({ event: "tool_result", data: event.result })
    case "usage":
      return Option.none()
  }
}
