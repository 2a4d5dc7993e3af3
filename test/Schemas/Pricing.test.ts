import { describe, expect, it } from "@effect/vitest"
import { costNanos, costOf, free, nanosPerUsd } from "../../src/Schemas/Pricing.ts"

const pricing = { inputPerMillion: 2.5, cachedInputPerMillion: 0.25, outputPerMillion: 10 }

describe("costNanos", () => {
  it("is the price of a million tokens for a million tokens", () => {
    expect(costNanos({ inputTokens: 1_000_000, outputTokens: 1_000_000 }, pricing)).toBe(12.5 * nanosPerUsd)
  })

  it("counts cached tokens apart, as part of the input tokens", () => {
    const usage = { inputTokens: 1_000_000, cachedInputTokens: 400_000, outputTokens: 0 }
    expect(costNanos(usage, pricing)).toBe(1.6 * nanosPerUsd)
  })

  it("takes cached tokens for others where they have no price of their own", () => {
    const usage = { inputTokens: 1000, cachedInputTokens: 1000, outputTokens: 0 }
    expect(costNanos(usage, { inputPerMillion: 1, outputPerMillion: 1 })).toBe(1_000_000)
  })

  it("believes no provider that more was cached than read", () => {
    expect(costNanos({ inputTokens: 10, cachedInputTokens: 1000, outputTokens: 0 }, pricing)).toBe(2500)
  })

  it("rounds up to a billionth, but what is a whole number but for binary fractions stays it", () => {
    expect(costNanos({ inputTokens: 1, outputTokens: 0 }, { ...pricing, inputPerMillion: 0.0001 })).toBe(1)
    expect(costNanos({ inputTokens: 3, outputTokens: 0 }, { ...pricing, inputPerMillion: 0.1 })).toBe(300)
  })

  it("is nothing for what is free", () => {
    expect(costNanos({ inputTokens: 5, outputTokens: 7 }, free)).toBe(0)
  })
})

describe("costOf", () => {
  it("is not known without a price, or where the provider did not say what it counted", () => {
    const usage = { inputTokens: 1_000_000, outputTokens: 0 }
    expect(costOf(usage, null)).toBe(null)
    expect(costOf(undefined, pricing)).toBe(null)
    expect(costOf(undefined, free)).toBe(0)
    expect(costOf(usage, pricing)).toBe(2.5 * nanosPerUsd)
  })

  it("stays a number that can be counted, whatever a provider says", () => {
    const usage = { inputTokens: 2_147_483_647, outputTokens: 2_147_483_647 }
    const most = { inputPerMillion: 1_000_000, outputPerMillion: 1_000_000 }
    expect(costOf(usage, most)).toBe(Number.MAX_SAFE_INTEGER)
  })
})
