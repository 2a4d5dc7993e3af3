import * as Schema from "effect/Schema"
import { AnsweringModel } from "./AnsweringModel.ts"
import { Unfit } from "./FormattedAnswer.ts"
import { GivenTool } from "./GivenTool.ts"
import { Reasoning } from "./Reasoning.ts"
import { ToolResult } from "./Tool.ts"
import { BoundCall } from "./ToolBinding.ts"
import { addSpent, CountedUsage, nothingSpent, type Spent } from "./Usage.ts"

/** One finished step of the agent loop: an answer of the model, or the result of a tool call. */
export const JournalStep = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("model"),
    text: Schema.String,
    toolCalls: Schema.Array(BoundCall),
    usage: CountedUsage,
    /** What it cost with the price of then, in billionths of a US dollar; absent or null: not known. */
    costNanos: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
    reasoning: Schema.optionalKey(Reasoning),
    /** Why the answer is not whole: it makes no calls, and nothing comes after it. */
    truncated: Schema.optionalKey(Schema.String),
    /** Why it is not what its caller wants: it makes no calls, and is asked for again where that is not final. */
    unfit: Schema.optionalKey(Unfit),
    /** With the first answer: the tools of connectors that the run has. */
    given: Schema.optionalKey(Schema.Array(GivenTool)),
    /** With the first answer of each execution, which asks one model. */
    answeredBy: Schema.optionalKey(AnsweringModel)
  }),
  Schema.Struct({ type: Schema.Literal("tool"), result: ToolResult })
])
export type JournalStep = typeof JournalStep.Type

/** What one step has used. */
export const spentBy = (step: JournalStep): Spent =>
  step.type === "tool"
    ? { ...nothingSpent, toolCalls: 1 }
    : {
        ...step.usage,
        cachedInputTokens: step.usage.cachedInputTokens ?? 0,
        modelCalls: 1,
        toolCalls: 0,
        costNanos: step.costNanos ?? null
      }

/** What steps have used together. */
export const spentOf = (steps: Iterable<JournalStep>): Spent => {
  let spent = nothingSpent
  for (const step of steps) spent = addSpent(spent, spentBy(step))
  return spent
}

/**
 * Steps are numbered from 0. An answer that was not whole, and that a retry asks for again, is kept below that, from -1
 * downwards: what it cost counts, and nothing else of it.
 */
export const isPutAside = (index: number): boolean => index < 0

/** With the first answer the run was given its tools, also where that answer is asked for again. */
export const firstAnswerOf = (steps: ReadonlyMap<number, JournalStep>): JournalStep | undefined =>
  steps.get(0) ?? steps.get(-1)

/** How many answers of the model the run goes on behind. */
export const answersIn = (steps: ReadonlyMap<number, JournalStep>): number => {
  let count = 0
  for (const [index, step] of steps) if (step.type === "model" && !isPutAside(index)) count++
  return count
}
