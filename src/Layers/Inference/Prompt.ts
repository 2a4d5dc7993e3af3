import type {
  JSONObject,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions
} from "@ai-sdk/provider"
import type { InferenceRequest, PromptMessage } from "../../Schemas/Inference.ts"
import { joinSystem } from "../../Schemas/Prompt.ts"
import type { AnswerPart, Reasoning, Thinker } from "../../Schemas/Reasoning.ts"
import type { ToolCall, ToolDefinition, ToolResult } from "../../Schemas/Tool.ts"
import type { Dialect, WireNames } from "../../Schemas/WireName.ts"
import { thoughtFields } from "./Compatible.ts"
import { formatWords, isStrict, wantedOf } from "./Wanted.ts"

/** Who is asked, and in which words. */
export interface Asked {
  readonly dialect: Dialect
  readonly thinker: Thinker
  readonly names: WireNames
  readonly maxOutputTokens: number | null
  /** Whether every answer must show a thought: servers refuse requests for one that is missing. */
  readonly needsThoughts: boolean
  /** Whether the provider is told of the format of the answer, which some refuse; else the model is. */
  readonly tellsFormat: boolean
}

type Content = Extract<LanguageModelV4Message, { role: "assistant" }>["content"]

type AssistantMessage = Extract<PromptMessage, { role: "assistant" }>

/** A request in the form that every provider package takes. */
export const toCallOptions = (request: InferenceRequest, asked: Asked): LanguageModelV4CallOptions => {
  const { messages, system, tools } = request
  return {
    prompt: toPrompt(joinSystem(system, formatWords(request, asked)), messages, asked),
    ...(tools.length > 0 && { tools: tools.map((tool) => toTool(tool, asked.names)) }),
    ...(asked.maxOutputTokens !== null && { maxOutputTokens: asked.maxOutputTokens }),
    ...wantedOf(request, asked),
    ...providerOptionsOf(request, asked)
  }
}

const providerOptionsOf = ({ format }: InferenceRequest, { dialect }: Asked) => {
  const strict = format?.schema != null && { strictJsonSchema: isStrict(format.schema) }
  // Nothing is left with the provider: whoever takes a run up has all that it takes.
  if (dialect === "openai") return { providerOptions: { openai: { store: false, ...strict } } }
  return dialect === "openai-compatible" && strict !== false
    ? { providerOptions: { openaiCompatible: strict } }
    : {}
}

const toPrompt = (
  system: string | null,
  messages: ReadonlyArray<PromptMessage>,
  asked: Asked
): LanguageModelV4Prompt => {
  const own = messages.flatMap((message) => {
    const thought = message.role === "assistant" ? thoughtsOf(message, asked) : undefined
    return thought === undefined ? [] : [thought]
  })
  // A server that has sent thoughts misses those of answers without any.
  const needsThoughts = asked.needsThoughts || own.some((one) => missed in thoughtFields(one))
  return [
    ...(system === null || system.trim() === "" ? [] : [{ role: "system" as const, content: system }]),
    ...messages.flatMap((message) => toMessage(message, { ...asked, needsThoughts }))
  ]
}

/** What this model thought itself; what another did is of no use to it. */
const thoughtsOf = ({ reasoning }: AssistantMessage, { thinker }: Asked): Reasoning | undefined =>
  reasoning?.provider === thinker.provider && reasoning.model === thinker.model ? reasoning : undefined

const toMessage = (message: PromptMessage, asked: Asked): ReadonlyArray<LanguageModelV4Message> => {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: [{ type: "text", text: message.content }] }]
    case "assistant":
      return toAssistantMessage(message, asked)
    case "tool":
      return [{ role: "tool", content: message.results.map((result) => toToolResult(result, asked.names)) }]
  }
}

const toAssistantMessage = (
  message: AssistantMessage,
  asked: Asked
): ReadonlyArray<LanguageModelV4Message> => {
  const reasoning = thoughtsOf(message, asked)
  const isCompatible = asked.dialect === "openai-compatible"
  const parts: ReadonlyArray<AnswerPart> = reasoning?.parts ?? [
    { type: "text", length: message.content.length },
    ...message.toolCalls.map(() => ({ type: "tool_call" as const }))
  ]
  const calls = message.toolCalls.values()
  const content: Array<Content[number]> = []
  let from = 0
  for (const part of parts) {
    if (part.type === "tool_call") {
      const { value } = calls.next()
      if (value !== undefined) content.push(toToolCall(value, asked.names))
    } else if (part.type === "text") {
      const text = message.content.slice(from, from + part.length).toWellFormed()
      from += part.length
      // Providers refuse texts of white space alone and messages without content; Gemini signs empty ones.
      const isShown = text.trim() !== "" || (asked.dialect === "google" && part.metadata !== undefined)
      if (isShown) content.push({ type: "text", text, ...optionsOf(part.metadata) })
    } else if (!isCompatible) {
      content.push({ type: "reasoning", text: part.text, ...optionsOf(part.metadata) })
    }
  }
  if (content.length === 0) return []
  if (!isCompatible) return [{ role: "assistant", content }]
  return [{ role: "assistant", content, ...optionsOf(thoughtOptions(reasoning, asked)) }]
}

const thoughtOptions = (
  reasoning: Reasoning | undefined,
  { needsThoughts }: Asked
): JSONObject | undefined => {
  const own = reasoning === undefined ? {} : thoughtFields(reasoning)
  if (Object.keys(own).length > 0) return { openaiCompatible: own as JSONObject }
  return needsThoughts ? { openaiCompatible: { [missed]: " " } } : undefined
}

/** Of the names of a thought the one whose absence servers refuse: DeepSeek and Kimi, also where it would be empty. */
const missed = "reasoning_content"

const optionsOf = (metadata: object | undefined) =>
  metadata === undefined ? {} : { providerOptions: metadata as SharedV4ProviderOptions }

const toToolCall = (call: ToolCall, names: WireNames) => ({
  type: "tool-call" as const,
  toolCallId: names.id(call.id),
  toolName: names.name(call.name),
  // What the model wrote as something else than an object was refused; providers take objects only.
  input: isObject(call.arguments) ? call.arguments : {},
  ...optionsOf(call.providerMetadata)
})

const toToolResult = (
  { id, isError, name, result }: ToolResult,
  names: WireNames
): LanguageModelV4ToolResultPart => ({
  type: "tool-result",
  toolCallId: names.id(id),
  toolName: names.name(name),
  output:
    typeof result === "string"
      ? { type: isError ? "error-text" : "text", value: result }
      : { type: isError ? "error-json" : "json", value: result as JSONObject }
})

const toTool = ({ description, name, parameters }: ToolDefinition, names: WireNames) => ({
  type: "function" as const,
  name: names.name(name),
  description,
  inputSchema: parameters as JSONObject
})

const isObject = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value)
