import * as Schema from "effect/Schema"
import { AgentReference } from "./Agent.ts"
import { AutonomyLevel } from "./Autonomy.ts"
import { AgentId, ConversationId, MessageId, ProjectId, ProviderKeyId, UserId, WorkspaceId } from "./Ids.ts"
import { PromptMessage } from "./Inference.ts"
import { cut, cutWords, text } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"
import type { Usage } from "./Usage.ts"

export const MessageRole = Schema.Literals(["USER", "ASSISTANT"])
export type MessageRole = typeof MessageRole.Type

export const Message = Schema.Struct({
  id: MessageId,
  role: MessageRole,
  content: Schema.String,
  createdAt: Timestamp
}).annotate({ identifier: "Message" })
export type Message = typeof Message.Type

/** How a reply came about, kept beside it and shown to the model alone: its calls and results, its cost. */
export interface Trace {
  readonly parts: ReadonlyArray<PromptMessage>
  readonly usage: Usage
}

/** A message as a model is shown it again. */
export const HistoryEntry = Schema.Struct({
  role: MessageRole,
  content: Schema.String,
  parts: Schema.NullOr(Schema.Array(PromptMessage))
})
export type HistoryEntry = typeof HistoryEntry.Type

/** A message as it is stored. */
export const StoredMessage = Schema.Struct({
  ...Message.fields,
  parts: Schema.NullOr(Schema.Array(PromptMessage))
})
export type StoredMessage = typeof StoredMessage.Type

/**
 * What is kept of a turn for later ones: what was thought only where the provider wants it again, which is where tools
 * were called. Of a turn that left calls to its caller all of it: the next one goes on in the middle of that answer.
 */
export const lasting = (transcript: ReadonlyArray<PromptMessage>): ReadonlyArray<PromptMessage> => {
  const done = new Set(
    transcript.flatMap((message) => (message.role === "tool" ? message.results.map(({ id }) => id) : []))
  )
  const last = transcript.findLast((message) => message.role === "assistant")
  const goesOn = last?.toolCalls.some(({ id }) => !done.has(id)) === true
  return transcript.map((message) => {
    if (message.role !== "assistant" || goesOn) return message
    if (done.size > 0 && message.reasoning?.isLasting === true) return message
    const { reasoning: _, ...rest } = message
    return rest
  })
}

/** What a model sees of a message: its parts, if there are; those of a reply have the tool calls that led to it. */
export const toPrompt = ({ content, parts, role }: HistoryEntry): ReadonlyArray<PromptMessage> =>
  parts ?? [role === "USER" ? { role: "user", content } : { role: "assistant", content, toolCalls: [] }]

export const Conversation = Schema.Struct({
  id: ConversationId,
  workspaceId: WorkspaceId,
  projectId: Schema.NullOr(ProjectId),
  title: Schema.String,
  agentId: Schema.NullOr(AgentId),
  agent: Schema.NullOr(AgentReference),
  messages: Schema.Array(Message),
  updatedAt: Timestamp
}).annotate({ identifier: "Conversation" })
export type Conversation = typeof Conversation.Type

/** A conversation as it is stored, without its messages. */
export const StoredConversation = Schema.Struct({
  id: ConversationId,
  workspaceId: WorkspaceId,
  projectId: Schema.NullOr(ProjectId),
  title: Schema.String,
  agentId: Schema.NullOr(AgentId),
  agent: Schema.NullOr(AgentReference),
  ownerId: UserId,
  /** What its owner's client calls it, one of a kind in the workspace for each owner; null: nothing. */
  chatId: Schema.NullOr(Schema.String),
  /** No list shows it, and it is forgotten soon: a caller has the conversation itself. */
  isHidden: Schema.Boolean,
  createdAt: Timestamp,
  updatedAt: Timestamp
})
export type StoredConversation = typeof StoredConversation.Type

/** Specification, POST /api/chat/messages; `autonomyLevel` beyond it, as for tasks. */
export const SendMessage = Schema.Struct({
  workspaceId: WorkspaceId,
  content: text(1, 100_000),
  projectId: Schema.optionalKey(Schema.NullOr(ProjectId)),
  conversationId: Schema.optionalKey(Schema.NullOr(ConversationId)),
  agentId: Schema.optionalKey(Schema.NullOr(AgentId)),
  providerKeyId: Schema.optionalKey(Schema.NullOr(ProviderKeyId)),
  autonomyLevel: Schema.optionalKey(AutonomyLevel)
}).annotate({ identifier: "SendMessage" })
export type SendMessage = typeof SendMessage.Type

/** 409: the conversation is still answering an earlier message. */
export class ConversationBusy extends Schema.TaggedError<ConversationBusy>()("ConversationBusy", {
  error: Schema.String
}) {}

/** The title that the first message gives: 80 code points at most, whole words (section 4). */
export const titleOf = (content: string): string => cutWords(content, 80)

export const toConversation = (
  { chatId: _, createdAt: __, isHidden: ___, ownerId: ____, ...stored }: StoredConversation,
  messages: ReadonlyArray<Message>
): Conversation => ({ ...stored, messages })

/** The last message as the list shows it: cut to 200 code points (section 4). */
export const toPreview = (message: Message): Message => ({ ...message, content: cut(message.content, 200) })
