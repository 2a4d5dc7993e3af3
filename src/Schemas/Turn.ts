import * as Schema from "effect/Schema"
import type { StoredAgent } from "./Agent.ts"
import { type Message, type SendMessage, type StoredConversation, titleOf } from "./Conversation.ts"
import { type ConversationId, idOf, type MessageId, type RunId, type UserId } from "./Ids.ts"
import type { PromptMessage } from "./Inference.ts"
import { resolvePolicy } from "./Policy.ts"
import { type NewRun, newRun } from "./Run.ts"
import type { NumberedEvent } from "./RunEvent.ts"
import type { TurnInput } from "./TurnInput.ts"

/** A message with what the protocols of other clients say beside it (CONTRACT.md section 14). */
export interface SendTurn extends Omit<SendMessage, "content"> {
  /** What people are shown of it; may be longer than a message of `SendMessage`, and empty. */
  readonly content: string
  readonly given?: TurnInput | undefined
  /** What the model is shown of it in place of its content: results of the caller's tools, and a message. */
  readonly parts?: ReadonlyArray<PromptMessage> | undefined
  /**
   * Which message of `conversationId` it follows: where that is the last, and none is answered, in its place; else, or
   * with `isHidden` or `chatId`, in a new conversation of the sender's with all up to that message.
   */
  readonly after?: MessageId | undefined
  /** What the client calls the conversation, 1 to 255 characters: the sender's of that name, or a new one. */
  readonly chatId?: string | undefined
  /** A message of the conversation that this comes in the place of: it and all behind it are removed, by its owner alone. */
  readonly replacing?: MessageId | undefined
  /** Begins a conversation that no list shows. */
  readonly isHidden?: boolean | undefined
}

/** The place in which a message was to begin was taken behind the look at it: it is looked for again. */
export class PlaceTaken extends Schema.TaggedError<PlaceTaken>()("PlaceTaken", {}) {}

/** A message that another one follows, in the conversation as it was seen. */
export interface Followed {
  readonly conversationId: ConversationId
  readonly messageId: MessageId
  readonly updatedAt: Date
}

/** How much of a conversation a new one begins with: the newest messages up to the one that is followed. */
export const mostCopied = 1_000
export const mostCopiedBytes = 8 * 1024 * 1024

/**
 * The id of a copied message, by its place: the time of its new conversation, the place, and the end of that conversation's
 * id, which no id of a message that is made within the same millisecond ends in.
 */
export const copiedId = (conversationId: ConversationId, place: number): MessageId => {
  const ulid = conversationId.slice(-26)
  return idOf("message", `${ulid.slice(0, 10)}${String(place).padStart(3, "0")}${ulid.slice(13)}`)
}

/** What is stored of a message that was sent, all of it or nothing, and what is told of it first. */
export interface NewTurn {
  readonly conversation: Omit<StoredConversation, "agent">
  readonly message: Message
  /** What the model is shown of the message, if not its content. */
  readonly parts: ReadonlyArray<PromptMessage> | null
  /** What it follows, if that is said: the last message of its conversation, or what a new one is a copy up to. */
  readonly after: Followed | null
  readonly run: NewRun
  readonly first: NumberedEvent
}

/**
 * The turn that answers a message, in the conversation that it names or in a new one of its sender's
 * (CONTRACT.md section 7), as autonomous as the message says, else as a task to that agent.
 */
export const newTurn = (given: {
  readonly input: SendTurn
  readonly existing: StoredConversation | null
  /** What a new conversation is a copy of, up to the message that `input.after` names. */
  readonly copied?: StoredConversation | null
  readonly agent: Pick<StoredAgent, "id" | "policy"> | null
  readonly sender: UserId
  readonly ids: {
    readonly turn: RunId
    readonly message: MessageId
    readonly reply: MessageId
    /** Of a new conversation. */
    readonly conversation: ConversationId
  }
  readonly at: Date
  readonly traceparent?: string | null
}): NewTurn => {
  const { agent, at, copied = null, existing, ids, input } = given
  const message: Message = { id: ids.message, role: "USER", content: input.content, createdAt: at }
  const conversation = {
    ...(existing ?? {
      id: ids.conversation,
      workspaceId: input.workspaceId,
      projectId: copied === null ? (input.projectId ?? null) : copied.projectId,
      title: copied === null ? titleOf(input.content) : copied.title,
      ownerId: given.sender,
      chatId: input.chatId ?? null,
      isHidden: input.isHidden ?? false,
      createdAt: at
    }),
    agentId: agent?.id ?? null,
    updatedAt: at
  }
  const run = newRun({
    id: ids.turn,
    workspaceId: conversation.workspaceId,
    projectId: conversation.projectId,
    agentId: conversation.agentId,
    prompt: input.content,
    turn: { conversationId: conversation.id, replyId: ids.reply },
    ...resolvePolicy({ own: { autonomyLevel: input.autonomyLevel }, agent: agent?.policy ?? null }),
    providerKeyId: input.providerKeyId ?? null,
    traceparent: given.traceparent ?? null,
    input: input.given ?? null,
    createdAt: at
  })
  const first: NumberedEvent = {
    id: 1,
    event: {
      event: "conversation",
      data: {
        conversationId: conversation.id,
        title: conversation.title,
        agentId: conversation.agentId,
        messageId: message.id,
        turnId: run.id,
        created: existing === null
      }
    }
  }
  const followed = existing ?? copied
  const after =
    input.after === undefined || followed === null
      ? null
      : { conversationId: followed.id, messageId: input.after, updatedAt: followed.updatedAt }
  return { conversation, message, parts: input.parts ?? null, after, run, first }
}
