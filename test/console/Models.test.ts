import { describe, expect, it } from "@effect/vitest"
import { noKey, noPrices, payloadOf, pricesOf, pricingOf } from "../../console/src/views/Models/Key.ts"

describe("a provider key that was entered", () => {
  it("is sent without what was left empty", () => {
    expect(payloadOf({ ...noKey, name: "Fast", model: " gpt-x " })).toEqual({
      name: "Fast",
      provider: "openai",
      model: "gpt-x"
    })
    expect(
      payloadOf({ ...noKey, apiKey: "k", baseUrl: "https://m.example.org/v1", maxOutputTokens: "99" })
    ).toMatchObject({ apiKey: "k", baseUrl: "https://m.example.org/v1", maxOutputTokens: 99 })
  })
})

describe("prices that were entered", () => {
  it("are none where nothing is, and come back as they are", () => {
    expect(pricingOf(noPrices)).toBeNull()
    const pricing = { inputPerMillion: 0.25, cachedInputPerMillion: 0.025, outputPerMillion: 2 }
    expect(pricingOf(pricesOf(pricing))).toEqual(pricing)
    expect(pricingOf({ input: "1", cached: "", output: "0" })).toEqual({
      inputPerMillion: 1,
      outputPerMillion: 0
    })
  })

  it("are a sentence where they are incomplete", () => {
    expect(pricingOf({ input: "1", cached: "", output: "" })).toContain("pricing:")
    expect(pricingOf({ input: "1", cached: "x", output: "2" })).toBe("pricing: must be numbers")
  })
})
