import * as Schema from "effect/Schema"
import { ToolCall, type ToolDefinition, ToolResult } from "./Tool.ts"
import type { Usage } from "./Usage.ts"

/** One message of what a model is shown. Tool results answer the calls of the message before them. */
export const PromptMessage = Schema.Union([
  Schema.Struct({ role: Schema.Literal("user"), content: Schema.String }),
  Schema.Struct({
    role: Schema.Literal("assistant"),
    content: Schema.String,
    toolCalls: Schema.Array(ToolCall)
  }),
  Schema.Struct({ role: Schema.Literal("tool"), results: Schema.Array(ToolResult) })
])
export type PromptMessage = typeof PromptMessage.Type

export interface InferenceRequest {
  readonly system: string | null
  readonly messages: ReadonlyArray<PromptMessage>
  readonly tools: ReadonlyArray<ToolDefinition>
}

/** What a model sends: text and tool calls in order, then exactly one `finish`. */
export type InferenceEvent =
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "tool_call"; readonly call: ToolCall }
  | { readonly type: "finish"; readonly usage: Usage }

/** Why a model gave no answer, in words that a caller may read: no key, no prompt. */
export class InferenceError extends Schema.TaggedError<InferenceError>()("InferenceError", {
  reason: Schema.Literals([
    "authentication",
    "permission",
    "not_found",
    "bad_request",
    "rate_limited",
    "quota_exceeded",
    "overloaded",
    "unreachable",
    "context_length",
    "content_filter",
    "truncated",
    "timeout",
    "unknown"
  ]),
  error: Schema.String
}) {}
