import type { CountedUsage } from "../Usage.ts"

/** Tokens as chat completions count them. What was thought is counted with what was said: providers tell no more. */
export const completionUsage = ({ cachedInputTokens, inputTokens, outputTokens }: CountedUsage) => ({
  prompt_tokens: inputTokens,
  completion_tokens: outputTokens,
  total_tokens: inputTokens + outputTokens,
  prompt_tokens_details: { cached_tokens: cachedInputTokens ?? 0, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 0,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0
  }
})

/** The same as responses count them. */
export const responseUsage = ({ cachedInputTokens, inputTokens, outputTokens }: CountedUsage) => ({
  input_tokens: inputTokens,
  input_tokens_details: { cached_tokens: cachedInputTokens ?? 0 },
  output_tokens: outputTokens,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: inputTokens + outputTokens
})
