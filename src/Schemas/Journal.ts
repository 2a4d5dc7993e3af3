import * as Schema from "effect/Schema"
import { AnsweringModel } from "./AnsweringModel.ts"
import { GivenTool } from "./GivenTool.ts"
import { Reasoning } from "./Reasoning.ts"
import { ToolResult } from "./Tool.ts"
import { BoundCall } from "./ToolBinding.ts"
import { addUsage, noUsage, Usage } from "./Usage.ts"

/** One finished step of the agent loop: an answer of the model, or the result of a tool call. */
export const JournalStep = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("model"),
    text: Schema.String,
    toolCalls: Schema.Array(BoundCall),
    usage: Usage,
    reasoning: Schema.optionalKey(Reasoning),
    /** Why the answer is not whole: it makes no calls, and nothing comes after it. */
    truncated: Schema.optionalKey(Schema.String),
    /** With the first answer: the tools of connectors that the run has. */
    given: Schema.optionalKey(Schema.Array(GivenTool)),
    /** With the first answer of each execution, which asks one model. */
    answeredBy: Schema.optionalKey(AnsweringModel)
  }),
  Schema.Struct({ type: Schema.Literal("tool"), result: ToolResult })
])
export type JournalStep = typeof JournalStep.Type

/** How many answers of the model are among the steps, and what they cost. */
export const answersOf = (
  steps: Iterable<JournalStep>
): { readonly count: number; readonly usage: Usage } => {
  let [count, usage] = [0, noUsage]
  for (const step of steps) {
    if (step.type !== "model") continue
    count++
    usage = addUsage(usage, step.usage)
  }
  return { count, usage }
}
