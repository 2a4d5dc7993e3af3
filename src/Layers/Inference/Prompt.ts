import type {
  JSONObject,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions
} from "@ai-sdk/provider"
import type { InferenceRequest, PromptMessage } from "../../Schemas/Inference.ts"
import type { ToolCall, ToolDefinition, ToolResult } from "../../Schemas/Tool.ts"

/** A request in the form that every provider package takes. */
export const toCallOptions = ({ messages, system, tools }: InferenceRequest): LanguageModelV4CallOptions => ({
  prompt: toPrompt(system, messages),
  ...(tools.length > 0 && { tools: tools.map(toTool) })
})

const toPrompt = (system: string | null, messages: ReadonlyArray<PromptMessage>): LanguageModelV4Prompt => [
  ...(system === null || system.trim() === "" ? [] : [{ role: "system" as const, content: system }]),
  ...messages.flatMap(toMessage)
]

const toMessage = (message: PromptMessage): ReadonlyArray<LanguageModelV4Message> => {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: [{ type: "text", text: message.content }] }]
    case "assistant": {
      // Providers refuse texts of white space alone and messages without content.
      const text = message.content.trim() === "" ? [] : [{ type: "text" as const, text: message.content }]
      const content = [...text, ...message.toolCalls.map(toToolCall)]
      return content.length === 0 ? [] : [{ role: "assistant", content }]
    }
    case "tool":
      return [{ role: "tool", content: message.results.map(toToolResult) }]
  }
}

const toToolCall = (call: ToolCall) => ({
  type: "tool-call" as const,
  toolCallId: call.id,
  toolName: call.name,
  // What the model wrote as something else than an object was refused; providers take objects only.
  input: isObject(call.arguments) ? call.arguments : {},
  ...(call.providerMetadata !== undefined && {
    providerOptions: call.providerMetadata as SharedV4ProviderOptions
  })
})

const toToolResult = ({ id, isError, name, result }: ToolResult): LanguageModelV4ToolResultPart => ({
  type: "tool-result",
  toolCallId: id,
  toolName: name,
  output:
    typeof result === "string"
      ? { type: isError ? "error-text" : "text", value: result }
      : { type: isError ? "error-json" : "json", value: result as JSONObject }
})

const toTool = ({ description, name, parameters }: ToolDefinition) => ({
  type: "function" as const,
  name,
  description,
  inputSchema: parameters as JSONObject
})

const isObject = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value)
