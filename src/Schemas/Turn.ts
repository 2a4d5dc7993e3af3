import type { StoredAgent } from "./Agent.ts"
import { type Message, type SendMessage, type StoredConversation, titleOf } from "./Conversation.ts"
import type { ConversationId, MessageId, RunId, UserId } from "./Ids.ts"
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
  /** What the client calls a conversation that this begins. */
  readonly chatId?: string | undefined
  /** A message of the conversation that this comes in the place of: it and all behind it are removed, by its owner alone. */
  readonly replacing?: MessageId | undefined
  /** Begins a conversation that no list shows. */
  readonly isHidden?: boolean | undefined
}

/** What is stored of a message that was sent, all of it or nothing, and what is told of it first. */
export interface NewTurn {
  readonly conversation: Omit<StoredConversation, "agent">
  readonly message: Message
  /** What the model is shown of the message, if not its content. */
  readonly parts: ReadonlyArray<PromptMessage> | null
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
  const { agent, at, existing, ids, input } = given
  const message: Message = { id: ids.message, role: "USER", content: input.content, createdAt: at }
  const conversation = {
    ...(existing ?? {
      id: ids.conversation,
      workspaceId: input.workspaceId,
      projectId: input.projectId ?? null,
      title: titleOf(input.content),
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
  return { conversation, message, parts: input.parts ?? null, run, first }
}
