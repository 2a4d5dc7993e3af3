import * as Schema from "effect/Schema"
import { ConnectorReference } from "./Connector.ts"
import { Message } from "./Conversation.ts"
import { AgentId, ConversationId, MessageId, RunId } from "./Ids.ts"
import { Usage } from "./Usage.ts"

const ConversationData = Schema.Struct({
  conversationId: ConversationId,
  title: Schema.String,
  agentId: Schema.NullOr(AgentId),
  messageId: MessageId,
  turnId: RunId,
  created: Schema.Boolean
}).annotate({ identifier: "ConversationEventData" })

const StatusData = Schema.Union([
  Schema.Struct({
    status: Schema.Literal("thinking"),
    /** Only where there are some: connectors whose tools the model misses. */
    unavailableConnectors: Schema.optionalKey(Schema.Array(ConnectorReference))
  }),
  Schema.Struct({
    status: Schema.Literal("waiting_approval"),
    approvalId: Schema.String,
    toolCallId: Schema.String
  }),
  Schema.Struct({ status: Schema.Literal("responding"), messageId: MessageId, delta: Schema.String })
]).annotate({ identifier: "StatusEventData" })

const ToolCallData = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  arguments: Schema.Json
}).annotate({ identifier: "ToolCallEventData" })

const ToolResultData = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  result: Schema.Json,
  isError: Schema.Boolean,
  durationMs: Schema.Int
}).annotate({ identifier: "ToolResultEventData" })

const DoneData = Schema.Struct({
  conversationId: ConversationId,
  message: Message,
  usage: Usage
}).annotate({ identifier: "DoneEventData" })

const ErrorData = Schema.Struct({ error: Schema.String, code: Schema.String }).annotate({
  identifier: "ErrorEventData"
})

/** An event by its name, and what its one line of JSON holds. */
export const event = <E extends string, D extends Schema.Top>(name: E, data: D) =>
  Schema.Struct({ event: Schema.Literal(name), data })

/** The six events of a chat stream, and no other (CONTRACT.md section 7). */
export const ChatEvent = Schema.Union([
  event("conversation", ConversationData),
  event("status", StatusData),
  event("tool_call", ToolCallData),
  event("tool_result", ToolResultData),
  event("done", DoneData),
  event("error", ErrorData)
])
export type ChatEvent = typeof ChatEvent.Type

/** How a stream ends when something went wrong; the reason stays in the log. */
export const errorEvent = (code: string, error: string): ChatEvent => ({
  event: "error",
  data: { error, code }
})
