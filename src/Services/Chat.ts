import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type AgentInactive, requireActive, type StoredAgent } from "../Schemas/Agent.ts"
import type { BudgetExceeded } from "../Schemas/Budget.ts"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import {
  type Conversation,
  ConversationBusy,
  type Message,
  type StoredConversation,
  toConversation
} from "../Schemas/Conversation.ts"
import {
  Forbidden,
  InvalidInput,
  type NotFound,
  notFound,
  type RateLimited,
  type Unavailable,
  unknownReference
} from "../Schemas/Errors.ts"
import type { ConversationId, MessageId, ProjectId, RunId, WorkspaceId } from "../Schemas/Ids.ts"
import { isEnd, type NumberedEvent } from "../Schemas/RunEvent.ts"
import { textProblem } from "../Schemas/Text.ts"
import type { Caller } from "../Schemas/Token.ts"
import { type NewTurn, newTurn, PlaceTaken, type SendTurn } from "../Schemas/Turn.ts"
import type { User } from "../Schemas/User.ts"
import { Access } from "./Access.ts"
import { AgentRepo } from "./AgentRepo.ts"
import { audited } from "./Audited.ts"
import * as Messages from "./Chat/Messages.ts"
import { ConversationRepo } from "./ConversationRepo.ts"
import { now } from "./CurrentTime.ts"
import * as LiveEvents from "./Engine/LiveEvents.ts"
import { Readers } from "./Engine/Readers.ts"
import { RunEvents } from "./Engine/RunEvents.ts"
import { Engine, type Start } from "./Engine.ts"
import { Ids } from "./Ids.ts"
import type * as Listing from "./Listing.ts"
import { orUnknown, References } from "./References.ts"
import { continued } from "./Relay.ts"
import * as RequestFacts from "./RequestFacts.ts"
import { Settings } from "./Settings.ts"
import { Signals } from "./Signals.ts"
import * as Telemetry from "./Telemetry.ts"
import { Transaction } from "./Transaction.ts"

/** What a caller does with conversations (specification, Chat; CONTRACT.md section 7). */
export class Chat extends Context.Service<
  Chat,
  {
    /**
     * Refuses what can be refused; then the message is stored together with the turn that answers it, a
     * durable run of its own kind, and its events come as a stream that ends with exactly one of `done` and
     * `error`, whichever node goes on with it. Who stops reading loses nothing, and neither does who may not read on
     * (`Readers`). Where that has no place for another stream, nothing is stored.
     */
    readonly send: (
      caller: Caller,
      input: SendTurn
    ) => Effect.Effect<
      Stream.Stream<NumberedEvent>,
      | AgentInactive
      | BudgetExceeded
      | ConversationBusy
      | Forbidden
      | InvalidInput
      | PlanLimitExceeded
      | RateLimited
      | Unavailable,
      Scope.Scope
    >
    readonly list: (
      user: User,
      filter: {
        readonly workspaceId: WorkspaceId
        readonly projectId?: ProjectId | undefined
        readonly limit: number
        readonly offset: number
      }
    ) => Effect.Effect<ReadonlyArray<Conversation>, Forbidden | InvalidInput | Unavailable>
    /** For members of its workspace: with all its messages, the newest ones, or those before one. */
    readonly get: (
      user: User,
      id: ConversationId,
      part?: Messages.MessagesQuery
    ) => Effect.Effect<
      { readonly conversation: Omit<Conversation, "messages">; readonly messages: Listing.Listing<Message> },
      InvalidInput | NotFound | Unavailable
    >
    /** By its owner only. A stream that is answering in it ends with `error`. */
    readonly remove: (
      user: User,
      id: ConversationId
    ) => Effect.Effect<void, Forbidden | NotFound | Unavailable>
  }
>()("agentd/Services/Chat") {
  static readonly layer = Layer.effect(
    Chat,
    Effect.gen(function* () {
      const access = yield* Access
      const conversations = yield* ConversationRepo
      const engine = yield* Engine
      const ids = yield* Ids
      const references = yield* References
      const readers = yield* Readers
      const runEvents = yield* RunEvents
      const signals = yield* Signals

      const visible = Effect.fnUntraced(function* (user: User, id: ConversationId) {
        return yield* access.visible(user, "conversation", yield* conversations.find(id))
      })

      const messagesOf = yield* Messages.make
      const resolve = yield* makeResolve
      const store = yield* makeStore

      const send = Effect.fnUntraced(function* (user: User, input: SendTurn, isCopied: boolean) {
        yield* access.member(user, input.workspaceId)
        const { agent, existing } = yield* resolve(user, input)
        const turn = newTurn({
          input,
          existing: isCopied ? null : existing,
          copied: isCopied ? existing : null,
          agent,
          sender: user.id,
          ids: yield* makeIds(ids),
          at: yield* now,
          traceparent: yield* Telemetry.traceparent
        })
        const { first, run } = turn
        const follow = (after: number) => runEvents.follow(run.id, after)
        const live = yield* LiveEvents.make
        yield* live.offer(first)
        const how = { existing: isCopied ? null : existing, replacing: input.replacing }
        const isHere = yield* engine.submit(run, (start) => store(turn, { ...how, start }), live)
        yield* RequestFacts.tell({ turnId: run.id })
        yield* Telemetry.annotate(() => ({ "agentd.run.id": run.id }))
        return isHere ? lived(live.stream, follow) : follow(0)
      })

      return Chat.of({
        // A client that leaves between the claim and the start of the turn must not leave it claimed.
        send: (caller, input) => {
          const isApart = input.after !== undefined && (input.isHidden === true || input.chatId !== undefined)
          const sent = send(caller, input, isApart).pipe(
            Effect.catchTag("PlaceTaken", () => send(caller, input, input.after !== undefined)),
            Effect.catchTag("PlaceTaken", () => calledSo),
            // A conversation whose agent was just deleted goes on without one.
            Effect.retry({
              times: 1,
              while: (error) =>
                error._tag === "ReferenceGone" && (error.field !== "agentId" || input.agentId == null)
            }),
            orUnknown
          )
          return Effect.uninterruptible(readers.open(caller, input.workspaceId, 0, sent))
        },
        list: Effect.fnUntraced(function* (user, filter) {
          yield* access.member(user, filter.workspaceId)
          yield* references.resolve(filter.workspaceId, { projectId: filter.projectId })
          return yield* conversations.list(filter)
        }),
        get: Effect.fnUntraced(function* (user, id, part = {}) {
          const { messages: _, ...conversation } = toConversation(yield* visible(user, id), [])
          return { conversation, messages: yield* messagesOf(id, part) }
        }),
        remove: Effect.fnUntraced(function* (user, id) {
          const conversation = yield* visible(user, id)
          if (conversation.ownerId !== user.id) {
            return yield* new Forbidden({ error: "only the owner of a conversation may delete it" })
          }
          const removed = yield* conversations.remove(id).pipe(audited("conversation.delete", conversation))
          if (Option.isNone(removed)) return yield* notFound("conversation")
          const { turnId } = removed.value
          if (turnId !== null) yield* signals.publish({ type: "run", id: turnId })
        })
      })
    })
  )
}

const calledSo = Effect.suspend(
  () => new ConversationBusy({ error: "chatId: another conversation is called so" })
)

/** Of all that a turn makes; its own may be known before. */
const makeIds = Effect.fnUntraced(function* ({ make }: Ids["Service"]) {
  return {
    turn: (yield* RequestFacts.CurrentRequest)?.turnToBegin ?? (yield* make<RunId>("turn")),
    message: yield* make<MessageId>("message"),
    reply: yield* make<MessageId>("message"),
    conversation: yield* make<ConversationId>("conversation")
  }
})

/** The conversation that a message names, and the agent that answers it: both may receive it now. */
const makeResolve = Effect.gen(function* () {
  const agents = yield* AgentRepo
  const conversations = yield* ConversationRepo
  const references = yield* References

  const called = Effect.fnUntraced(function* (
    { id: ownerId }: User,
    { workspaceId }: SendTurn,
    chatId: string
  ) {
    const problem = textProblem(chatId, 1, 255)
    if (problem !== undefined) return yield* new InvalidInput({ error: `chatId: ${problem}` })
    return Option.getOrNull(yield* conversations.findChat({ workspaceId, ownerId, chatId }))
  })

  return Effect.fnUntraced(function* (user: User, input: SendTurn) {
    const resolved = yield* references.resolve(input.workspaceId, input)
    const { chatId } = input
    const existing =
      resolved.conversation ?? (chatId === undefined ? null : yield* called(user, input, chatId))
    if (existing !== null && (input.projectId ?? existing.projectId) !== existing.projectId) {
      return yield* new InvalidInput({ error: "projectId: is not the project of this conversation" })
    }
    if (input.replacing !== undefined && existing?.ownerId !== user.id) {
      return yield* new Forbidden({ error: "only the owner of a conversation may have it answered again" })
    }
    const agent: StoredAgent | null =
      resolved.agent ??
      (existing?.agentId == null ? null : Option.getOrNull(yield* agents.find(existing.agentId)))
    yield* Effect.fromResult(requireActive(agent))
    return { existing, agent }
  })
})

interface Storing {
  readonly existing: StoredConversation | null
  readonly replacing: MessageId | undefined
  readonly start: Start | undefined
}

/** Stores a message together with the turn that answers it; true: the turn is RUNNING here. */
const makeStore = Effect.gen(function* () {
  const conversations = yield* ConversationRepo
  const { quotas } = yield* Settings
  const transaction = yield* Transaction
  return Effect.fnUntraced(function* (turn: NewTurn, { existing, replacing, start }: Storing) {
    const how = { isNew: existing === null, start, mostPending: quotas.pendingRuns }
    const beginning = conversations.begin(turn, how).pipe(audited("message.send", turn.conversation))
    const begun = yield* replacing === undefined
      ? beginning
      : transaction.atomically(
          Effect.tap(beginning, (isBegun) =>
            Option.isNone(isBegun)
              ? Effect.void
              : conversations.rewind(turn.conversation.id, replacing, turn.message.id)
          )
        )
    if (Option.isSome(begun)) return begun.value
    const { after, conversation } = turn
    if (existing === null && after !== null) {
      const source = yield* conversations.entry(after.conversationId, after.messageId)
      if (Option.isNone(source)) return yield* unknownReference("conversationId")
    }
    if (existing === null ? conversation.chatId !== null : after !== null) return yield* new PlaceTaken()
    // It can't begin also where the conversation was deleted behind the check.
    if (Option.isNone(yield* conversations.find(turn.conversation.id))) {
      return yield* unknownReference("conversationId")
    }
    return yield* new ConversationBusy({ error: "conversationId: still answering the message before" })
  })
})

/** What is told here as it happens, and what others tell when the work goes on elsewhere or later. */
const lived = (
  live: Stream.Stream<NumberedEvent>,
  follow: (after: number) => Stream.Stream<NumberedEvent>
): Stream.Stream<NumberedEvent> =>
  continued(live, (last) => (last !== undefined && isEnd(last.event) ? Stream.empty : follow(last?.id ?? 0)))
