import * as Schema from "effect/Schema"

/** Tokens that a model read and wrote. */
export const Usage = Schema.Struct({ inputTokens: Schema.Int, outputTokens: Schema.Int }).annotate({
  identifier: "Usage"
})
export type Usage = typeof Usage.Type

/** The same with what of the input tokens came out of a cache of the provider: they are part of these, and cost less. */
export const CountedUsage = Schema.Struct({
  ...Usage.fields,
  cachedInputTokens: Schema.optionalKey(Schema.Int)
})
export type CountedUsage = typeof CountedUsage.Type

/** What of something that was counted is told: the documented fields alone. */
export const toUsage = ({ inputTokens, outputTokens }: Usage): Usage => ({ inputTokens, outputTokens })

export const noUsage: Usage = { inputTokens: 0, outputTokens: 0 }

/** What a column of the database holds; no honest count comes near it. */
const mostTokens = 2_147_483_647

/** A count of tokens as it can be stored, whatever a provider says. */
export const tokenCount = (tokens: number | undefined): number =>
  tokens === undefined || !Number.isFinite(tokens) ? 0 : Math.min(mostTokens, Math.max(0, Math.trunc(tokens)))

export const addUsage = (a: Usage, b: Usage): Usage => ({
  inputTokens: tokenCount(a.inputTokens + b.inputTokens),
  outputTokens: tokenCount(a.outputTokens + b.outputTokens)
})

/** What a run has used, by the steps that it finished. */
export interface Spent extends Required<CountedUsage> {
  readonly modelCalls: number
  readonly toolCalls: number
  /** In billionths of a US dollar; null where that of a call is not known. */
  readonly costNanos: number | null
}

export const nothingSpent: Spent = {
  ...noUsage,
  cachedInputTokens: 0,
  modelCalls: 0,
  toolCalls: 0,
  costNanos: 0
}

/** What is not known makes a sum unknown. */
const addCosts = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? null : a + b

export const addSpent = (a: Spent, b: Spent): Spent => ({
  ...addUsage(a, b),
  cachedInputTokens: tokenCount(a.cachedInputTokens + b.cachedInputTokens),
  modelCalls: a.modelCalls + b.modelCalls,
  toolCalls: a.toolCalls + b.toolCalls,
  costNanos: addCosts(a.costNanos, b.costNanos)
})
