import * as Schema from "effect/Schema"
import { storableJson, storableText } from "./Json.ts"

/** Whose model it was: what one says to itself is shown to no other. */
export const Thinker = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  /** Whether the provider wants it back in later turns too, of those in which tools were called. */
  isLasting: Schema.Boolean
})
export type Thinker = typeof Thinker.Type

const metadata = Schema.optionalKey(Schema.JsonObject)

/** A part of an answer, with what only its provider understands. */
export const AnswerPart = Schema.Union([
  Schema.Struct({ type: Schema.Literal("reasoning"), text: Schema.String, metadata }),
  /** As many UTF-16 code units of the text of the answer, behind those of the parts before. */
  Schema.Struct({ type: Schema.Literal("text"), length: Schema.Int, metadata }),
  /** The next of its calls. */
  Schema.Struct({ type: Schema.Literal("tool_call") })
])
export type AnswerPart = typeof AnswerPart.Type

/**
 * What a model thought before and between what it said, in order. Its provider is shown it again with the answer;
 * no caller ever is.
 */
export const Reasoning = Schema.Struct({ ...Thinker.fields, parts: Schema.Array(AnswerPart) })
export type Reasoning = typeof Reasoning.Type

/** A piece of a part as it comes. Pieces of one part have the same number; text may have none. */
export interface Piece {
  readonly part?: number
  readonly delta: string
  /** Takes the place of what came before for this part. */
  readonly metadata?: Schema.JsonObject
}

interface Part {
  readonly type: "reasoning" | "text" | "tool_call"
  readonly key: number | undefined
  text: string
  length: number
  metadata: Schema.JsonObject | undefined
}

/** Puts the parts of an answer together as its pieces come. Texts and metadata can be stored. */
export const makeParts = () => {
  const parts: Array<Part> = []
  let length = 0

  const partOf = (type: "reasoning" | "text", { delta, part }: Piece): Part => {
    const found =
      // Texts follow each other: what is said later is behind what was said before.
      type === "text" && delta !== ""
        ? parts.at(-1)
        : parts.findLast((one) => one.type === type && one.key === part)
    if (found?.type === type && found.key === part) return found
    const made: Part = { type, key: part, text: "", length: 0, metadata: undefined }
    parts.push(made)
    return made
  }

  return {
    add: (type: "reasoning" | "text", piece: Piece): void => {
      if (piece.delta === "" && piece.metadata === undefined) return
      const part = partOf(type, piece)
      if (type === "text") part.length += piece.delta.length
      else {
        part.text += piece.delta
        length += piece.delta.length
      }
      if (piece.metadata !== undefined) {
        const before = part.metadata === undefined ? 0 : JSON.stringify(part.metadata).length
        part.metadata = storableJson(piece.metadata) as Schema.JsonObject
        length += JSON.stringify(part.metadata).length - before
      }
    },
    called: (): void => {
      parts.push({ type: "tool_call", key: undefined, text: "", length: 0, metadata: undefined })
    },
    /** Of what was thought and is kept beside the text, in UTF-16 code units. */
    length: () => length,
    /** Undefined where there is nothing that text and calls do not say. */
    result: (): ReadonlyArray<AnswerPart> | undefined =>
      parts.every(({ metadata, type }) => type !== "reasoning" && metadata === undefined)
        ? undefined
        : parts.map((part): AnswerPart => {
            if (part.type === "tool_call") return { type: "tool_call" }
            const more = part.metadata === undefined ? {} : { metadata: part.metadata }
            return part.type === "text"
              ? { type: "text", length: part.length, ...more }
              : { type: "reasoning", text: storableText(part.text), ...more }
          })
  }
}
