import type { StoredAgent } from "./Agent.ts"
import { type Message, type SendMessage, type StoredConversation, titleOf } from "./Conversation.ts"
import type { ConversationId, MessageId, RunId, UserId } from "./Ids.ts"
import { resolvePolicy } from "./Policy.ts"
import { newRun, type StoredRun } from "./Run.ts"
import type { NumberedEvent } from "./RunEvent.ts"

/** What is stored of a message that was sent, all of it or nothing, and what is told of it first. */
export interface NewTurn {
  readonly conversation: Omit<StoredConversation, "agent">
  readonly message: Message
  readonly run: StoredRun
  readonly first: NumberedEvent
}

/**
 * The turn that answers a message, in the conversation that it names or in a new one of its sender's
 * (CONTRACT.md section 7), as autonomous as the message says, else as a task to that agent.
 */
export const newTurn = (given: {
  readonly input: SendMessage
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
  return { conversation, message, run, first }
}
