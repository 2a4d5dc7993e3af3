import * as Schema from "effect/Schema"
import type { PromptMessage } from "./Inference.ts"
import { mostLevels } from "./JsonLimits.ts"

/** The answer of a turn is not what its caller wants of it, asked for once again. */
export class InvalidOutput extends Schema.TaggedError<InvalidOutput>()("InvalidOutput", {
  error: Schema.String
}) {}

export const invalidOutput = (reason: string): InvalidOutput =>
  new InvalidOutput({ error: `the answer does not fit its format: ${reason}` })

/** Why an answer does not fit its format. `isFinal`: it is not asked for again. */
export const Unfit = Schema.Struct({ error: Schema.String, isFinal: Schema.Boolean })
export type Unfit = typeof Unfit.Type

export const notJson = "the answer: must be JSON and nothing else"

/** The JSON that an answer is, as it was written, without the white space and the fence of Markdown around it. */
export const jsonTextOf = (text: string): string => {
  const trimmed = text.trim()
  if (!trimmed.startsWith("```") || !trimmed.endsWith("```") || trimmed.length < 6) return trimmed
  const inside = trimmed.slice(3, -3)
  const line = inside.indexOf("\n")
  return line !== -1 && /^[a-z]*\s*$/iu.test(inside.slice(0, line)) ? inside.slice(line).trim() : trimmed
}

/** Its value; undefined: it is no JSON, or nested deeper than a body of a request may be. */
export const jsonValueOf = (text: string): Schema.Json | undefined => {
  try {
    const value = JSON.parse(jsonTextOf(text)) as Schema.Json
    return isDeeper(value, mostLevels) ? undefined : value
  } catch {
    return undefined
  }
}

const isDeeper = (value: Schema.Json, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner as Schema.Json, levels - 1)))

/** What is told of an answer that has a format: JSON that fits, or as much of it as came before it was cut off. */
export const formatted = (answer: {
  readonly text: string
  readonly toolCalls: ReadonlyArray<unknown>
  readonly truncated?: string
  readonly unfit?: Unfit
}): string => {
  if (answer.toolCalls.length > 0 || answer.unfit !== undefined) return ""
  return answer.truncated === undefined ? jsonTextOf(answer.text) : answer.text
}

/** Why it is asked for again, in words for the model. */
export const againBecause = (reason: string): PromptMessage => ({
  role: "user",
  content: `Your last answer can't be used: ${reason}. Give the same answer again as JSON that is right, and nothing else.`
})

const pieceLength = 2_000

/** A text that was held back, in pieces that are told one by one: joined they give it back, and none ends in half a character. */
export const piecesOf = (text: string): ReadonlyArray<string> => {
  const pieces: Array<string> = []
  for (let from = 0; from < text.length; ) {
    const end = from + pieceLength
    const isSplit = end < text.length && /[\uD800-\uDBFF]/u.test(text.charAt(end - 1))
    const to = isSplit ? end + 1 : end
    pieces.push(text.slice(from, to))
    from = to
  }
  return pieces
}
