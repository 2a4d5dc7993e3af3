import * as Schema from "effect/Schema"
import { ToolCall, ToolResult } from "./Tool.ts"
import { Usage } from "./Usage.ts"

/** One finished step of the agent loop: an answer of the model, or the result of a tool call. */
export const JournalStep = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("model"),
    text: Schema.String,
    toolCalls: Schema.Array(ToolCall),
    usage: Usage
  }),
  Schema.Struct({ type: Schema.Literal("tool"), result: ToolResult })
])
export type JournalStep = typeof JournalStep.Type
