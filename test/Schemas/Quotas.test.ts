import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { readQuotas } from "../../src/Schemas/QuotaSetting.ts"
import { isFull, quotas } from "../../src/Schemas/Quotas.ts"

describe("AGENTD_QUOTAS", () => {
  it("changes what it names, and nothing else", () => {
    assert.deepStrictEqual(
      readQuotas('{"free":{"agents":5,"tokens":0},"pro":{"memoryBytes":null}}'),
      Result.succeed({
        ...quotas,
        agents: { free: 5, pro: 10_000 },
        tokens: { free: 0, pro: 1_000 },
        memoryBytes: { free: 67_108_864, pro: null }
      })
    )
    assert.deepStrictEqual(readQuotas("{}"), Result.succeed(quotas))
    assert.strictEqual(quotas.agents.free, 1_000)
  })

  const form = 'must be JSON such as {"free":{"agents":5}}'
  it.each([
    ["free=5", form],
    ["[]", form],
    ["5", form],
    ["null", form],
    ['{"free":5}', form],
    ['{"free":[]}', form],
    ['{"gold":{}}', "names a plan that is none of free, pro"],
    ['{"__proto__":{}}', "names a plan that is none of free, pro"],
    [
      '{"free":{"agent":5}}',
      "names a quota that is none of agents, projects, cronJobs, providerKeys, connectors, webhooks, memoryEntries, memoryBytes, pendingRuns, workspacesOwned, tokens"
    ],
    ...['"5"', "-1", "1.5", "1e300", "true", "{}"].map((value) => [
      `{"pro":{"agents":${value}}}`,
      "pro.agents must be a whole number from 0, or null for no limit"
    ])
  ])("%s is refused", (text, problem) => {
    assert.deepStrictEqual(readQuotas(text), Result.fail(problem))
  })
})

describe("a quota", () => {
  it("is full from its value on, and never without one", () => {
    const most = { free: 2, pro: null }
    assert.deepStrictEqual(
      [1, 2, 3].map((used) => isFull(used, "free", most)),
      [false, true, true]
    )
    assert.isFalse(isFull(1e15, "pro", most))
    assert.isFalse(isFull(1e15, "free", undefined))
    assert.isTrue(isFull(0, "free", { free: 0, pro: 0 }))
  })
})
