import * as Schema from "effect/Schema"
import type { ToolCall, ToolDefinition, ToolResult } from "./Tool.ts"
import type { Usage } from "./Usage.ts"

/** One message of what a model is shown. Tool results answer the calls of the message before them. */
export type PromptMessage =
  | { readonly role: "user"; readonly content: string }
  | { readonly role: "assistant"; readonly content: string; readonly toolCalls: ReadonlyArray<ToolCall> }
  | { readonly role: "tool"; readonly results: ReadonlyArray<ToolResult> }

/** Which model is to answer; what is null is chosen by the inference layer. */
export interface ModelChoice {
  readonly workspaceId: string
  readonly provider: string | null
  readonly model: string | null
  readonly providerKeyId: string | null
}

export interface InferenceRequest {
  readonly choice: ModelChoice
  readonly system: string | null
  readonly messages: ReadonlyArray<PromptMessage>
  readonly tools: ReadonlyArray<ToolDefinition>
}

/** What a model sends: text and tool calls in order, then exactly one `finish`. */
export type InferenceEvent =
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "tool_call"; readonly call: ToolCall }
  | { readonly type: "finish"; readonly usage: Usage }

/** Why a model gave no answer, in words that a caller may read. */
export class InferenceError extends Schema.TaggedError<InferenceError>()("InferenceError", {
  reason: Schema.Literals([
    "authentication",
    "permission",
    "not_found",
    "bad_request",
    "rate_limited",
    "quota_exceeded",
    "overloaded",
    "context_length",
    "content_filter",
    "truncated",
    "timeout",
    "unknown"
  ]),
  error: Schema.String
}) {}
