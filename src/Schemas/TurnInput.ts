import * as Schema from "effect/Schema"
import { AnswerFormat, PromptMessage, Sampling, ToolChoice } from "./Inference.ts"
import { ToolDefinition } from "./Tool.ts"

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
  sampling: Sampling,
  /** What answers of the caller's protocol repeat of the request: it is kept for that alone. */
  echo: Schema.optionalKey(Schema.JsonObject)
})
export type TurnInput = typeof TurnInput.Type

/** The input of a turn as it is read with its run: it may be long, and is read where it is needed (`RunRepo.input`). */
export const KeptInput = Schema.Union([Schema.Literal("unread"), TurnInput])

/** A turn of which nothing is asked but an answer. */
export const plainInput: TurnInput = {
  instructions: null,
  messages: null,
  tools: [],
  toolChoice: "auto",
  format: null,
  sampling: {}
}

/** Whether a tool is the caller's: it has the name, whatever of the agent's is called so as well. */
export const isOfCaller = ({ tools }: Pick<TurnInput, "tools">, name: string): boolean =>
  tools.some((tool) => tool.name === name)

/**
 * Which tools the next answer may or must call, once tools of the agent were called (`hasCalled`) or before: a caller
 * that wants a call of its own gets one, however many of the agent's come before; one that has no tools, or names one
 * of the agent's, wants one call.
 */
export const nextChoice = (
  input: Pick<TurnInput, "toolChoice" | "tools">,
  hasCalled: boolean
): ToolChoice => {
  const { toolChoice, tools } = input
  if (!hasCalled || toolChoice === "auto" || toolChoice === "none") return toolChoice
  const isOwn = toolChoice === "required" ? tools.length > 0 : isOfCaller(input, toolChoice.name)
  return isOwn ? toolChoice : "auto"
}
