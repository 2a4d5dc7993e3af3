import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { BudgetExceeded } from "../Schemas/Budget.ts"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import type {
  Conversation,
  Message,
  StoredConversation,
  StoredMessage,
  Trace
} from "../Schemas/Conversation.ts"
import type { ReferenceGone, Unavailable } from "../Schemas/Errors.ts"
import type {
  AgentId,
  ConversationId,
  MessageId,
  ProjectId,
  RunId,
  UserId,
  WorkspaceId
} from "../Schemas/Ids.ts"
import type { Batch, Extent, Range } from "../Schemas/Page.ts"
import type { ByPlan } from "../Schemas/Quotas.ts"
import type { NewTurn } from "../Schemas/Turn.ts"
import type { Claimant, Shares } from "./RunRepo.ts"

/** Conversations, their messages, and which turn is answering each of them. */
export class ConversationRepo extends Context.Service<
  ConversationRepo,
  {
    readonly insert: (
      conversation: Omit<StoredConversation, "agent">
    ) => Effect.Effect<void, ReferenceGone | Unavailable>
    readonly find: (id: ConversationId) => Effect.Effect<Option.Option<StoredConversation>, Unavailable>
    /** The one that its owner's client calls so. */
    readonly findChat: (chat: {
      readonly workspaceId: WorkspaceId
      readonly ownerId: UserId
      readonly chatId: string
    }) => Effect.Effect<Option.Option<StoredConversation>, Unavailable>
    /** Which turn answers in it, or else was the last to, if there was one. */
    readonly latestTurn: (id: ConversationId) => Effect.Effect<Option.Option<RunId>, Unavailable>
    /** A message of a conversation, with what the model is shown of it. */
    readonly entry: (
      id: ConversationId,
      messageId: MessageId
    ) => Effect.Effect<Option.Option<StoredMessage>, Unavailable>
    /** Newest `updatedAt` first, without hidden ones; `messages` holds the last message, its content cut for the list. */
    readonly list: (filter: {
      readonly workspaceId: WorkspaceId
      readonly projectId?: ProjectId | undefined
      readonly limit: number
      readonly offset: number
    }) => Effect.Effect<ReadonlyArray<Conversation>, Unavailable>
    /**
     * The newest messages up to `limit`, or those before one, in the order in which they were written; the first of
     * them may go over `batchBytes`. `next` is null where there are no more. Empty when there is no such conversation;
     * `ReferenceGone` where there is no message `before` in it.
     */
    readonly newest: (
      id: ConversationId,
      part: { readonly before: MessageId | null; readonly limit: number }
    ) => Effect.Effect<Batch<Message, number>, ReferenceGone | Unavailable>
    /** How much there is in the newest messages, up to `limit` or all. No more is read than an answer may have. */
    readonly extent: (
      id: ConversationId,
      part: { readonly before: MessageId | null; readonly limit: number | undefined }
    ) => Effect.Effect<Extent<number>, Unavailable>
    /** The first messages of a range, the last of which may go over `batchBytes`. */
    readonly messages: (
      id: ConversationId,
      range: Range<number>
    ) => Effect.Effect<Batch<Message, number>, Unavailable>
    /**
     * The newest messages with what models are shown of them, in the order in which they were written: as
     * many as fit `maximumBytes` (and one more), 1,000 at most.
     */
    readonly history: (
      id: ConversationId,
      maximumBytes: number
    ) => Effect.Effect<ReadonlyArray<StoredMessage>, Unavailable>
    /**
     * Removes a message of the conversation and all that were written behind it, but for `kept`. Nothing, where there is
     * no such message in it.
     */
    readonly rewind: (
      id: ConversationId,
      from: MessageId,
      kept: MessageId
    ) => Effect.Effect<void, Unavailable>
    /** Stores the message and moves `updatedAt` on. False when the conversation is gone. */
    readonly addMessage: (id: ConversationId, message: Message) => Effect.Effect<boolean, Unavailable>
    readonly setAgent: (
      id: ConversationId,
      agentId: AgentId
    ) => Effect.Effect<void, ReferenceGone | Unavailable>
    /**
     * It is gone at once with its messages and turns; those are let go of bit by bit (`RemovalRepo`), but for the turn
     * that answers in it, if there is one: which it was. It ends by this, and is counted (`Metrics.countEnds`). None
     * when it was gone.
     */
    readonly remove: (
      id: ConversationId
    ) => Effect.Effect<Option.Option<{ readonly turnId: RunId | null }>, Unavailable>
    /**
     * Stores a message and the turn that answers it, with a new conversation (`isNew`) or in the one of that id, all of
     * it or nothing; `updatedAt` and an agent that is named become the conversation's. Answers as `RunRepo.insert`
     * does, by which `start` and `mostPending` are told; none where another turn answers, the conversation is gone, its
     * owner's client calls another one so, or what the message follows (`after`) is not the last. One of several at the
     * same time wins. A new conversation that follows a message begins with copies of the newest messages up to that one,
     * 1,000 and 8 MiB (and one more) at most, with what models are shown of them; none where that is gone.
     */
    readonly begin: (
      turn: NewTurn,
      how: {
        readonly isNew: boolean
        readonly start?: (Claimant & Shares) | undefined
        readonly mostPending?: ByPlan | undefined
      }
    ) => Effect.Effect<
      Option.Option<boolean>,
      BudgetExceeded | PlanLimitExceeded | ReferenceGone | Unavailable
    >
    /**
     * Removes up to `limit` hidden conversations to which nothing was added since, with their messages and turns, the
     * oldest first: of how many. None in which a turn answers. Waits for nobody: what somebody just writes is left for
     * another time.
     */
    readonly forgetHidden: (before: Date, limit: number) => Effect.Effect<number, Unavailable>
    /**
     * Makes `turnId` the one that answers, until that run is over. False when another turn answers, or the
     * conversation is gone. One of several at the same time wins.
     */
    readonly claimTurn: (id: ConversationId, turnId: RunId) => Effect.Effect<boolean, Unavailable>
    /**
     * Stores a reply with its trace and moves `updatedAt` on. Idempotent by its id. False when the
     * conversation is gone.
     */
    readonly addReply: (
      id: ConversationId,
      reply: Message,
      trace: Trace
    ) => Effect.Effect<boolean, Unavailable>
  }
>()("agentd/Services/ConversationRepo") {}
