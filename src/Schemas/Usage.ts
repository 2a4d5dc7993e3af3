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
