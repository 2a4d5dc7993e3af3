import type { SharedV4ProviderMetadata } from "@ai-sdk/provider"
import type * as Schema from "effect/Schema"
import type { AnswerPart, Reasoning } from "../../Schemas/Reasoning.ts"

/** Under what servers that are compatible with OpenAI send what a model thinks. */
const fields = ["reasoning_content", "reasoning"] as const
type Field = (typeof fields)[number]

const key = "agentd"

/** What is to be remembered beside the thought itself, so that it goes back as it came. */
interface Form {
  readonly field?: Field
  /** OpenRouter's, with the signatures of the model behind it. */
  readonly details?: ReadonlyArray<Schema.JsonObject>
}

/**
 * Looks at the chunks of an answer as they come: the package takes every thought for a `reasoning_content`, which
 * Groq refuses that sent a `reasoning`, and drops `reasoning_details`.
 */
export const extractor = {
  extractMetadata: () => Promise.resolve(undefined),
  createStreamExtractor: () => {
    let field: Field | undefined
    const details: Array<Record<string, Schema.Json>> = []
    return {
      processChunk: (chunk: unknown) => {
        const delta = deltaOf(chunk)
        if (delta === undefined) return
        field ??= fields.find((name) => typeof delta[name] === "string" && delta[name] !== "")
        if (!Array.isArray(delta.reasoning_details)) return
        for (const detail of delta.reasoning_details) if (isRecord(detail)) append(details, detail)
      },
      buildMetadata: (): SharedV4ProviderMetadata | undefined =>
        field === undefined && details.length === 0
          ? undefined
          : { [key]: { ...(field !== undefined && { field }), ...(details.length > 0 && { details }) } }
    }
  }
}

/** What the extractor found, as the metadata of a thought. */
export const reasoningOf = (
  metadata: SharedV4ProviderMetadata | undefined
): Schema.JsonObject | undefined => {
  const found = metadata?.[key]
  return found === undefined ? undefined : { [key]: found as Schema.JsonObject }
}

/** What goes back beside the text of an answer: what was thought, under the name and in the form in which it came. */
export const thoughtFields = ({ parts }: Pick<Reasoning, "parts">): Readonly<Record<string, Schema.Json>> => {
  const thoughts = parts.filter((part): part is Thought => part.type === "reasoning")
  const { details, field = fields[0] } = thoughts.map(formOf).findLast((form) => form !== undefined) ?? {}
  if (details !== undefined) return { reasoning_details: details }
  const text = thoughts.map((part) => part.text).join("")
  return text === "" ? {} : { [field]: text }
}

type Thought = Extract<AnswerPart, { type: "reasoning" }>

const formOf = ({ metadata }: Thought): Form | undefined => metadata?.[key] as Form | undefined

/** The pieces of one detail come one by one, its texts in parts. */
const append = (details: Array<Record<string, Schema.Json>>, piece: Record<string, Schema.Json>): void => {
  const last = details.at(-1)
  if (last === undefined || last.type !== piece.type || last.index !== piece.index || isWhole(piece)) {
    details.push({ ...piece })
    return
  }
  for (const [name, value] of Object.entries(piece)) {
    const before = last[name]
    last[name] =
      (name === "text" || name === "summary") && typeof before === "string" && typeof value === "string"
        ? before + value
        : (value ?? before ?? null)
  }
}

const isWhole = ({ type }: Record<string, Schema.Json>): boolean => type === "reasoning.encrypted"

const isRecord = (value: unknown): value is Record<string, Schema.Json> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const deltaOf = (chunk: unknown): Record<string, Schema.Json> | undefined => {
  const choices = isRecord(chunk) ? chunk.choices : undefined
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined
  return isRecord(first) && isRecord(first.delta) ? first.delta : undefined
}
