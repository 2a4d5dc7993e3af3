import * as Schema from "effect/Schema"
import type { CountedUsage } from "./Usage.ts"

const mostPrice = 1_000_000

const price = Schema.Finite.check(
  Schema.makeFilter(
    (value: number) => (value >= 0 && value <= mostPrice ? undefined : `must be 0 to ${mostPrice}`),
    {
      toJsonSchema: () => ({ minimum: 0, maximum: mostPrice })
    }
  )
)
/** US dollars per million tokens (CONTRACT.md section 11). Without one for them, cached tokens cost as others. */
export const Pricing = Schema.Struct({
  inputPerMillion: price,
  cachedInputPerMillion: Schema.optionalKey(price),
  outputPerMillion: price
}).annotate({ identifier: "Pricing" })
export type Pricing = typeof Pricing.Type

/** What costs nothing, but is counted. */
export const free: Pricing = { inputPerMillion: 0, outputPerMillion: 0 }

/** Money is counted in whole billionths of a US dollar: sums of them are exact. */
export const nanosPerUsd = 1_000_000_000

const nanosPerToken = (perMillion: number): number => (perMillion * nanosPerUsd) / 1_000_000

/** What tokens cost, in billionths of a US dollar, rounded up. Cached tokens are part of the input tokens. */
export const costNanos = (usage: CountedUsage, pricing: Pricing): number => {
  const cached = Math.min(usage.cachedInputTokens ?? 0, usage.inputTokens)
  const { cachedInputPerMillion = pricing.inputPerMillion, inputPerMillion, outputPerMillion } = pricing
  const cost =
    (usage.inputTokens - cached) * nanosPerToken(inputPerMillion) +
    cached * nanosPerToken(cachedInputPerMillion) +
    usage.outputTokens * nanosPerToken(outputPerMillion)
  // Prices are decimal fractions: what is a hair over a whole number is that number.
  return Math.min(Number.MAX_SAFE_INTEGER, Math.ceil(Number(cost.toPrecision(15))))
}

/** The same where either may not be known: what costs nothing costs nothing also uncounted. */
export const costOf = (usage: CountedUsage | undefined, pricing: Pricing | null): number | null => {
  if (pricing === null) return null
  if (usage !== undefined) return costNanos(usage, pricing)
  return pricing.inputPerMillion === 0 && pricing.outputPerMillion === 0 ? 0 : null
}

/** In US dollars, exact up to nine decimal places. */
export const toUsd = (nanos: number | null): number | null => (nanos === null ? null : nanos / nanosPerUsd)
