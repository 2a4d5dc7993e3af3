import type { JSONObject, LanguageModelV4CallOptions } from "@ai-sdk/provider"
import type * as Schema from "effect/Schema"
import type { AnswerFormat, InferenceRequest, Sampling } from "../../Schemas/Inference.ts"
import type { Dialect, WireNames } from "../../Schemas/WireName.ts"

interface Asked {
  readonly dialect: Dialect
  readonly names: WireNames
  /** Whether the provider is told of the format in its own terms; else the model is, in words. */
  readonly tellsFormat: boolean
}

type Options = Pick<
  LanguageModelV4CallOptions,
  | "frequencyPenalty"
  | "presencePenalty"
  | "responseFormat"
  | "seed"
  | "stopSequences"
  | "temperature"
  | "toolChoice"
  | "topP"
>

/** How an answer is wanted, as every provider package takes it: what a provider has no word for it leaves out. */
export const wantedOf = (request: InferenceRequest, asked: Asked): Options => {
  const { format, sampling = {}, toolChoice } = request
  return {
    ...samplingOf(sampling),
    // The packages leave it out where there are no tools.
    ...(toolChoice !== undefined && {
      toolChoice:
        typeof toolChoice === "string"
          ? { type: toolChoice }
          : { type: "tool" as const, toolName: asked.names.name(toolChoice.name) }
    }),
    ...(format !== undefined && isTold(request, asked) && { responseFormat: responseFormatOf(format) })
  }
}

const samplingOf = (sampling: Sampling): Options => {
  const { maxOutputTokens: _, stop, ...rest } = sampling
  return { ...rest, ...(stop !== undefined && stop.length > 0 && { stopSequences: [...stop] }) }
}

const longestName = 64

const responseFormatOf = ({ description, name, schema }: AnswerFormat) => ({
  type: "json" as const,
  name: name.replace(/[^a-zA-Z0-9_-]/gu, "_").slice(0, longestName) || "answer",
  ...(description !== undefined && { description }),
  ...(schema !== null && { schema: schema as JSONObject })
})

/**
 * Whether it is said in the provider's own terms. Anthropic knows JSON of a schema alone, for which its package may make
 * a tool of its own, `json`; Gemini takes JSON without one only where there are no tools.
 */
const isTold = ({ format, tools }: InferenceRequest, { dialect, tellsFormat }: Asked): boolean => {
  if (!tellsFormat || format === undefined) return false
  if (dialect === "anthropic") return format.schema !== null && tools.every(({ name }) => name !== "json")
  return dialect !== "google" || format.schema !== null || tools.length === 0
}

/**
 * What the model itself is told of the format; null: nothing, since the provider sees to it. Of what is compatible with
 * OpenAI many take a schema and do nothing with it.
 */
export const formatWords = (request: InferenceRequest, asked: Asked): string | null => {
  const { format } = request
  if (format === undefined) return null
  const isSeenTo = asked.dialect !== "openai-compatible" && format.schema !== null
  if (isSeenTo && isTold(request, asked)) return null
  const what =
    "When you answer and call no tool, answer with JSON and nothing else: no words around it, no Markdown."
  if (format.schema === null) return what
  return `${what} It has to fit this JSON Schema: ${JSON.stringify(format.schema)}`
}

/** OpenAI makes sure of schemas alone that leave nothing open, and refuses others where it is to be sure. */
export const isStrict = (schema: Schema.Json): boolean => {
  if (Array.isArray(schema)) return schema.every(isStrict)
  if (typeof schema !== "object" || schema === null) return true
  const { additionalProperties, properties, required, type } = schema as Schema.JsonObject
  const isObject = type === "object" || properties !== undefined
  if (isObject) {
    const names = Object.keys((properties ?? {}) as object)
    const isWhole = Array.isArray(required)
      ? names.every((name) => required.includes(name))
      : names.length === 0
    if (additionalProperties !== false || !isWhole) return false
  }
  return Object.entries(schema).every(([key, inner]) =>
    key === "properties" || key === "$defs" || key === "definitions"
      ? Object.values((inner ?? {}) as Schema.JsonObject).every(isStrict)
      : key === "enum" || key === "const" || key === "default" || key === "examples" || isStrict(inner)
  )
}
