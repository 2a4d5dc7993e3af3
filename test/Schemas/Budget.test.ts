import { assert, describe, it } from "@effect/vitest"
import {
  type Budget,
  boundOf,
  budgetExceeded,
  noBudget,
  nothingSpent,
  permissionOf,
  usualOutputTokens
} from "../../src/Schemas/Budget.ts"
import { costNanos } from "../../src/Schemas/Pricing.ts"

const request = (content: string) => ({
  system: null,
  messages: [{ role: "user" as const, content }],
  tools: []
})
const pricing = { inputPerMillion: 2, outputPerMillion: 10 }

describe("boundOf", () => {
  it("has as many tokens as the request has bytes, and the longest answer", () => {
    const [short, long] = [boundOf(request("a"), 100, pricing), boundOf(request("日本語a"), 100, pricing)]
    assert.strictEqual(long.tokens - short.tokens, 9)
    assert.strictEqual((long.costNanos ?? 0) - (short.costNanos ?? 0), 9 * 2_000)
    assert.isAtLeast(short.tokens, 100 + 1_024)
    const more = boundOf(request("a"), usualOutputTokens, pricing)
    assert.strictEqual(more.tokens - short.tokens, usualOutputTokens - 100)
  })

  it("costs the more of cached and other tokens, nothing where they are free, and is not known without a price", () => {
    const cached = boundOf(request("a"), 0, { ...pricing, cachedInputPerMillion: 3 })
    assert.strictEqual(
      cached.costNanos,
      costNanos({ inputTokens: cached.tokens, outputTokens: 0 }, { ...pricing, inputPerMillion: 3 })
    )
    assert.strictEqual(
      boundOf(request("a"), 0, { ...pricing, cachedInputPerMillion: 1 }).costNanos,
      cached.tokens * 2_000
    )
    assert.strictEqual(boundOf(request("a"), 9, { inputPerMillion: 0, outputPerMillion: 0 }).costNanos, 0)
    assert.isNull(boundOf(request("a"), 9, null).costNanos)
  })
})

describe("permissionOf", () => {
  const usd = 1_000_000_000
  const at = (used: number, lost: number, reserved: number) => {
    const spent = (costNanos: number) => ({ tokens: costNanos, costNanos: costNanos * usd })
    return { used: spent(used), lost: spent(lost), reserved: spent(reserved) }
  }
  const decide = (budget: Partial<Budget>, standing: ReturnType<typeof at>, costNanos: number | null = 1) =>
    permissionOf({ ...noBudget, ...budget }, { tokens: 5, costNanos }, nothingSpent, standing).type

  it.each([
    [{}, at(9, 9, 9), "none"],
    [{ monthlyUsd: 3 }, at(1, 1, 0), "reserved"],
    [{ monthlyUsd: 3 }, at(1, 1, 1), "waits"],
    [{ monthlyUsd: 3 }, at(2, 1, 0), "refused"],
    [{ monthlyUsd: 3 }, at(3, 0, 7), "refused"],
    [{ monthlyUsd: 0 }, at(0, 0, 0), "refused"],
    [{ monthlyTokens: 3 }, at(1, 0, 1), "reserved"],
    [{ monthlyTokens: 3 }, at(1, 0, 2), "waits"],
    [{ monthlyUsd: 9, monthlyTokens: 3 }, at(2, 1, 0), "refused"],
    [{ runUsd: 1 }, at(9, 9, 9), "reserved"],
    [{ runTokens: 0 }, at(0, 0, 0), "refused"]
  ] as const)("%j at %j: %s", (budget, standing, type) => {
    assert.strictEqual(decide(budget, standing), type)
  })

  it("refuses what has no price where a limit is in dollars alone", () => {
    assert.strictEqual(decide({ monthlyUsd: 3 }, at(0, 0, 0), null), "unpriced")
    assert.strictEqual(decide({ runUsd: 0 }, at(0, 0, 0), null), "unpriced")
    assert.strictEqual(decide({ monthlyTokens: 3 }, at(0, 0, 0), null), "reserved")
  })

  it("says which limit and how much it is", () => {
    assert.include(
      budgetExceeded({ limit: "runTokens", value: 7 }).error,
      "runTokens: this run has used up its budget of 7 tokens"
    )
  })
})
