import * as Schema from "effect/Schema"

/** Tokens that a model read and wrote. */
export const Usage = Schema.Struct({ inputTokens: Schema.Int, outputTokens: Schema.Int }).annotate({
  identifier: "Usage"
})
export type Usage = typeof Usage.Type

export const noUsage: Usage = { inputTokens: 0, outputTokens: 0 }

export const addUsage = (a: Usage, b: Usage): Usage => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens
})
