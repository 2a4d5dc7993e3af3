import * as Schema from "effect/Schema"

/** What a model is told of a tool. `parameters` is a JSON Schema of an object. */
export const ToolDefinition = Schema.Struct({
  name: Schema.String,
  description: Schema.String,
  parameters: Schema.JsonObject,
  /** Whether a call changes nothing, which no tool does that is marked destructive. */
  readOnly: Schema.Boolean
})
export type ToolDefinition = typeof ToolDefinition.Type

export const ToolCall = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  arguments: Schema.Json,
  /** What the provider wants back with the call when it is shown the call again; no caller sees it. */
  providerMetadata: Schema.optionalKey(Schema.JsonObject)
})
export type ToolCall = typeof ToolCall.Type

export const ToolResult = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  result: Schema.Json,
  isError: Schema.Boolean,
  durationMs: Schema.Int
})
export type ToolResult = typeof ToolResult.Type
