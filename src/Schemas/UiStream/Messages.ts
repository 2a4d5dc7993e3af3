import type * as Schema from "effect/Schema"
import type { StoredMessage } from "../Conversation.ts"
import type { ToolCall, ToolResult } from "../Tool.ts"

/** A part of a UI message, as the AI SDK has it. */
export interface UiPart {
  readonly type: string
  readonly [field: string]: unknown
}

/** A message as `useChat` has it. */
export interface UiMessage {
  readonly id: string
  readonly role: "user" | "assistant"
  readonly parts: ReadonlyArray<UiPart>
  readonly metadata: { readonly createdAt: string }
}

/** A message that nobody wrote: the client's results of the calls that the reply before it made. */
export const isOfResults = ({ content, parts, role }: StoredMessage): boolean =>
  role === "USER" && content === "" && (parts ?? []).some((part) => part.role === "tool")

/**
 * The messages of a conversation as UI messages. A reply that went on with the results of the client's tools is one
 * message with the reply before it, as it is in the client that it was streamed to, and is named as that is.
 */
export const toUiMessages = (stored: ReadonlyArray<StoredMessage>): ReadonlyArray<UiMessage> => {
  const messages: Array<UiMessage> = []
  let goesOn = false
  for (const [index, message] of stored.entries()) {
    if (isOfResults(message)) {
      goesOn = messages.at(-1)?.role === "assistant"
      continue
    }
    const parts =
      message.role === "USER" ? [text(message.content)] : partsOf(message, resultsBehind(stored, index))
    const before = messages.at(-1)
    if (goesOn && before !== undefined && message.role === "ASSISTANT") {
      messages[messages.length - 1] = { ...before, parts: [...before.parts, ...parts] }
    } else {
      messages.push({
        id: message.id,
        role: message.role === "USER" ? "user" : "assistant",
        parts,
        metadata: { createdAt: message.createdAt.toISOString() }
      })
    }
    goesOn = false
  }
  return messages
}

const text = (content: string): UiPart => ({ type: "text", text: content, state: "done" })

/** What the client has answered to the calls of a reply. */
const resultsBehind = (stored: ReadonlyArray<StoredMessage>, index: number): ReadonlyArray<ToolResult> =>
  (stored[index + 1]?.role === "USER" ? (stored[index + 1]?.parts ?? []) : []).flatMap((part) =>
    part.role === "tool" ? part.results : []
  )

const partsOf = (
  { content, parts }: StoredMessage,
  ofClient: ReadonlyArray<ToolResult>
): ReadonlyArray<UiPart> => {
  if (parts === null || parts.length === 0) return content === "" ? [] : [text(content)]
  const own = new Map(
    parts.flatMap((part) =>
      part.role === "tool" ? part.results.map((result) => [result.id, result] as const) : []
    )
  )
  const client = new Map(ofClient.map((result) => [result.id, result] as const))
  return parts.flatMap((part) =>
    part.role !== "assistant"
      ? []
      : [
          { type: "step-start" },
          ...(part.content === "" ? [] : [text(part.content)]),
          ...part.toolCalls.map((call) => toolPart(call, own.get(call.id), client.get(call.id)))
        ]
  )
}

const toolPart = (call: ToolCall, own: ToolResult | undefined, client: ToolResult | undefined): UiPart => {
  const result = own ?? client
  return {
    type: "dynamic-tool",
    toolName: call.name,
    toolCallId: call.id,
    input: call.arguments,
    ...(own !== undefined && { providerExecuted: true }),
    ...(result === undefined ? { state: "input-available" } : outcome(result))
  }
}

const outcome = ({ isError, result }: ToolResult) =>
  isError
    ? { state: "output-error", errorText: textOf(result) }
    : { state: "output-available", output: result }

const textOf = (result: Schema.Json): string => (typeof result === "string" ? result : JSON.stringify(result))
