import * as Schema from "effect/Schema"
import { type Piece, Reasoning, type Thinker } from "./Reasoning.ts"
import { ToolCall, type ToolDefinition, ToolResult } from "./Tool.ts"
import type { CountedUsage } from "./Usage.ts"

/** One message of what a model is shown. Tool results answer the calls of the message before them. */
export const PromptMessage = Schema.Union([
  Schema.Struct({ role: Schema.Literal("user"), content: Schema.String }),
  Schema.Struct({
    role: Schema.Literal("assistant"),
    content: Schema.String,
    toolCalls: Schema.Array(ToolCall),
    reasoning: Schema.optionalKey(Reasoning)
  }),
  Schema.Struct({ role: Schema.Literal("tool"), results: Schema.Array(ToolResult) })
])
export type PromptMessage = typeof PromptMessage.Type

/** How a model is to make its answer; what is absent is left to it. */
export const Sampling = Schema.Struct({
  temperature: Schema.optionalKey(Schema.Finite),
  topP: Schema.optionalKey(Schema.Finite),
  /** Of each answer of the model: over it the answer is cut off. */
  maxOutputTokens: Schema.optionalKey(Schema.Int),
  stop: Schema.optionalKey(Schema.Array(Schema.String)),
  seed: Schema.optionalKey(Schema.Int),
  presencePenalty: Schema.optionalKey(Schema.Finite),
  frequencyPenalty: Schema.optionalKey(Schema.Finite)
})
export type Sampling = typeof Sampling.Type

/** Which tools an answer may or must call; `{name}` is that one. */
export const ToolChoice = Schema.Union([
  Schema.Literals(["auto", "none", "required"]),
  Schema.Struct({ name: Schema.String })
])
export type ToolChoice = typeof ToolChoice.Type

/** The answer is JSON, of this JSON Schema if there is one. */
export const AnswerFormat = Schema.Struct({
  name: Schema.String,
  description: Schema.optionalKey(Schema.String),
  schema: Schema.NullOr(Schema.JsonObject)
})
export type AnswerFormat = typeof AnswerFormat.Type

export interface InferenceRequest {
  readonly system: string | null
  readonly messages: ReadonlyArray<PromptMessage>
  readonly tools: ReadonlyArray<ToolDefinition>
  /** Absent: `auto`. Says nothing where there are no tools. */
  readonly toolChoice?: ToolChoice
  /** The provider is told of it, and holds to it if it can: nobody has checked the answer. */
  readonly format?: AnswerFormat
  readonly sampling?: Sampling
}

/** What a model sends: thoughts, text and tool calls in order, then exactly one `finish`. */
export type InferenceEvent =
  | ({ readonly type: "text" } & Piece)
  | ({ readonly type: "reasoning"; readonly part: number } & Piece)
  | { readonly type: "tool_call"; readonly call: ToolCall }
  | {
      readonly type: "finish"
      readonly usage: CountedUsage
      /** Who is to be shown again what it thought, where that is of use to anybody. */
      readonly thinker?: Thinker
      /** Why the answer is not whole, in words that a caller may read. */
      readonly truncated?: string
    }

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
