import * as Schema from "effect/Schema"
import { PromptMessage } from "./Inference.ts"
import { ToolDefinition } from "./Tool.ts"

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

/** What a turn is asked beside its stored conversation, as the protocols of other clients have it (CONTRACT.md section 14). */
export const TurnInput = Schema.Struct({
  /** Said to the model behind the agent's own system prompt, in this turn alone. */
  instructions: Schema.NullOr(Schema.String),
  /** The whole conversation, as the caller has it, in place of what is stored; null: that. */
  messages: Schema.NullOr(Schema.Array(PromptMessage)),
  /** Tools that the caller executes itself: a call of one ends the turn, and its result comes with the next. */
  tools: Schema.Array(ToolDefinition),
  toolChoice: ToolChoice,
  format: Schema.NullOr(AnswerFormat),
  sampling: Sampling
})
export type TurnInput = typeof TurnInput.Type

/** A turn of which nothing is asked but an answer. */
export const plainInput: TurnInput = {
  instructions: null,
  messages: null,
  tools: [],
  toolChoice: "auto",
  format: null,
  sampling: {}
}
