import { assert, describe, it } from "@effect/vitest"
import type { ProviderKeyId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import type { ChosenModel } from "../../src/Schemas/ModelChoice.ts"
import { listedPricing, pricingOf } from "../../src/Schemas/ModelPrice.ts"
import { priceList } from "../../src/Schemas/PriceList.ts"
import type { Pricing } from "../../src/Schemas/Pricing.ts"
import type { Provider, UsableProviderKey } from "../../src/Schemas/ProviderKey.ts"

const gpt4o: Pricing = { inputPerMillion: 2.5, cachedInputPerMillion: 1.25, outputPerMillion: 10 }
const own: Pricing = { inputPerMillion: 7, outputPerMillion: 9 }
const free: Pricing = { inputPerMillion: 0, outputPerMillion: 0 }

describe("listedPricing", () => {
  it("finds a model by its name, and by its name with a date or edition", () => {
    for (const name of ["gpt-4o", "gpt-4o-2024-08-06", "GPT-4o", "gpt-4o-latest"])
      assert.deepStrictEqual(listedPricing("openai", name), gpt4o, name)
    assert.strictEqual(listedPricing("anthropic", "claude-haiku-4-5-20251001")?.outputPerMillion, 5)
    assert.strictEqual(listedPricing("anthropic", "claude-3-5-haiku-latest")?.outputPerMillion, 4)
    assert.strictEqual(listedPricing("google", "models/gemini-2.0-flash-001")?.outputPerMillion, 0.4)
  })

  it("prefers the price of a date to that of its name", () => {
    assert.strictEqual(listedPricing("openai", "gpt-4o-2024-05-13")?.inputPerMillion, 5)
  })

  it("takes no name for one that it begins with, nor one of another provider", () => {
    for (const name of ["gpt-4o-something", "gpt-5.9", "ft:gpt-4o:org", "openai/gpt-4o", ""])
      assert.isUndefined(listedPricing("openai", name), name)
    assert.isUndefined(listedPricing("anthropic", "gpt-4o"))
    assert.isUndefined(listedPricing("openai-compatible", "gpt-4o"))
  })

  it("has each name once, and no cached price above the usual one", () => {
    for (const [provider, listed] of Object.entries(priceList)) {
      const names = listed.flatMap((price) => price[3].split(" "))
      assert.strictEqual(new Set(names).size, names.length, provider)
      for (const [input, cached, output, name] of listed) {
        assert.isAbove(Math.min(input, output), 0, name)
        assert.isBelow(cached ?? 0, input, name)
      }
    }
  })
})

describe("pricingOf", () => {
  const key = (provider: Provider, pricing: Pricing | null, model = "m"): UsableProviderKey => ({
    id: "pkey_1" as ProviderKeyId,
    workspaceId: "ws_1" as WorkspaceId,
    name: "k",
    provider,
    model,
    baseUrl: "http://127.0.0.1:1/v1",
    maxOutputTokens: null,
    pricing,
    hasApiKey: false,
    sealedApiKey: null,
    isDefault: true,
    createdAt: new Date(0)
  })
  const by = (given: UsableProviderKey, model = given.model) =>
    pricingOf({ source: "key", key: given, model }, [given])
  const operators = (provider: Provider, model: string) =>
    pricingOf({ source: "environment", provider, model }, [])

  it("is that of the key for its model, whatever a list says", () => {
    assert.deepStrictEqual(by(key("openai", own, "gpt-4o")), own)
    assert.deepStrictEqual(by(key("openai-compatible", own)), own)
    assert.deepStrictEqual(by(key("openai", free, "gpt-4o")), free)
  })

  it("is that of the list for another model of the key, and the key's where there is none", () => {
    assert.deepStrictEqual(by(key("openai", own), "gpt-4o"), gpt4o)
    assert.deepStrictEqual(by(key("openai", own), "unheard-of"), own)
  })

  it("is that of the list, else not known", () => {
    assert.deepStrictEqual(by(key("openai", null, "gpt-4o-2024-08-06")), gpt4o)
    assert.isNull(by(key("openai", null)))
    assert.deepStrictEqual(operators("openai", "gpt-4o"), gpt4o)
    assert.isNull(operators("anthropic", "gpt-4o"))
  })

  it("is nothing for what people run themselves, unless somebody sets one", () => {
    assert.deepStrictEqual(by(key("openai-compatible", null, "gpt-4o")), free)
    assert.deepStrictEqual(operators("openai-compatible", "qwen"), free)
    const offline = (providerKeyId: ProviderKeyId | null): ChosenModel => ({
      source: "offline",
      model: "m",
      providerKeyId
    })
    assert.deepStrictEqual(pricingOf(offline(null), [key("openai", own)]), free)
    assert.deepStrictEqual(pricingOf(offline("pkey_1" as ProviderKeyId), [key("offline", null)]), free)
    assert.deepStrictEqual(pricingOf(offline("pkey_1" as ProviderKeyId), [key("offline", own)]), own)
  })
})
