import * as Schema from "effect/Schema"
import { ConnectorReference } from "./Connector.ts"
import { Message } from "./Conversation.ts"
import { AgentId, ConversationId, MessageId, RunId } from "./Ids.ts"
import { Usage } from "./Usage.ts"

const event = <E extends string, F extends Schema.Struct.Fields>(name: E, data: F) =>
  Schema.Struct({ event: Schema.Literal(name), data: Schema.Struct(data) })

/** The six events of a chat stream, and no other (CONTRACT.md section 7). */
export const ChatEvent = Schema.Union([
  event("conversation", {
    conversationId: ConversationId,
    title: Schema.String,
    agentId: Schema.NullOr(AgentId),
    messageId: MessageId,
    turnId: RunId,
    created: Schema.Boolean
  }),
  Schema.Struct({
    event: Schema.Literal("status"),
    data: Schema.Union([
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
    ])
  }),
  event("tool_call", { id: Schema.String, name: Schema.String, arguments: Schema.Json }),
  event("tool_result", {
    id: Schema.String,
    name: Schema.String,
    result: Schema.Json,
    isError: Schema.Boolean,
    durationMs: Schema.Int
  }),
  event("done", { conversationId: ConversationId, message: Message, usage: Usage }),
  event("error", { error: Schema.String, code: Schema.String })
]).annotate({ identifier: "ChatEvent" })
export type ChatEvent = typeof ChatEvent.Type

/** How a stream ends when something went wrong; the reason stays in the log. */
export const errorEvent = (code: string, error: string): ChatEvent => ({
  event: "error",
  data: { error, code }
})
