import { assert, describe, it } from "@effect/vitest"
import type { PromptMessage } from "../../src/Schemas/Inference.ts"
import { estimateTokens, fitPrompt, fitTools, promptBudget } from "../../src/Schemas/Prompt.ts"

const user = (content: string): PromptMessage => ({ role: "user", content })
const says = (content: string): PromptMessage => ({ role: "assistant", content, toolCalls: [] })
const pair = (id: string, result = "r"): ReadonlyArray<PromptMessage> => [
  { role: "assistant", content: "", toolCalls: [{ id, name: "t", arguments: {} }] },
  { role: "tool", results: [{ id, name: "t", result, isError: false, durationMs: 1 }] }
]

const labels = (messages: ReadonlyArray<PromptMessage>) =>
  messages.map((message) =>
    message.role === "tool"
      ? `result ${message.results[0]?.id}`
      : message.role === "assistant" && message.toolCalls.length > 0
        ? `call ${message.toolCalls[0]?.id}`
        : message.content.slice(0, 2)
  )

describe("estimateTokens", () => {
  it("counts four ASCII characters as one token and any other unit as one", () => {
    assert.strictEqual(estimateTokens(""), 0)
    assert.strictEqual(estimateTokens("abcd"), 1)
    assert.strictEqual(estimateTokens("abcde"), 2)
    assert.strictEqual(estimateTokens("日本語"), 3)
    assert.strictEqual(estimateTokens("abcd語"), 2)
  })
})

describe("fitPrompt", () => {
  const long = "x".repeat(400)

  it("leaves what fits as it is", () => {
    const messages = [user("q1"), ...pair("a"), says("a1"), user("q2")]
    assert.deepStrictEqual(fitPrompt(messages, 1000), messages)
    assert.deepStrictEqual(fitPrompt([], 1000), [])
  })

  it("drops the oldest, and begins with a message of the user", () => {
    const messages = [user(`q1${long}`), says(`a1${long}`), user("q2"), says("a2"), user("q3")]
    assert.deepStrictEqual(labels(fitPrompt(messages, 200)), ["q2", "a2", "q3"])
    assert.deepStrictEqual(labels(fitPrompt(messages, 150)), ["q2", "a2", "q3"])
    assert.deepStrictEqual(labels(fitPrompt(messages, 1)), ["q3"])
  })

  it("never shows a call without its results, nor the other way round", () => {
    const messages = [
      user("q1"),
      ...pair("a"),
      ...pair("b"),
      says("a1"),
      user("q2"),
      ...pair("c"),
      ...pair("d")
    ]
    for (let budget = 1; budget < 400; budget++) {
      const shown = labels(fitPrompt(messages, budget))
      for (const id of ["a", "b", "c", "d"]) {
        const at = shown.indexOf(`call ${id}`)
        assert.strictEqual(shown.indexOf(`result ${id}`), at === -1 ? -1 : at + 1, `${budget}: ${shown}`)
      }
      assert.include(shown, "q2")
      assert.strictEqual(shown.at(-1), "result d")
      assert.match(shown[0] ?? "", /^q/)
    }
  })

  it("shows all of the turn under way, its oldest results left out where it is too much", () => {
    const result = long.slice(0, 100)
    const messages = [
      user(`q1${long}`),
      says(`a1${long}`),
      user("q2"),
      ...["a", "b", "c"].flatMap((id) => pair(id, result))
    ]
    const size = (shown: ReadonlyArray<PromptMessage>) =>
      shown.reduce(
        (sum, message) =>
          sum + estimateTokens(message.role === "user" ? message.content : JSON.stringify(message)),
        0
      )
    const shown = fitPrompt(messages, size(messages.slice(2)) - 1)
    assert.deepStrictEqual(labels(shown), [
      "q2",
      "call a",
      "result a",
      "call b",
      "result b",
      "call c",
      "result c"
    ])
    assert.deepStrictEqual(
      shown.flatMap((message) =>
        message.role === "tool" ? message.results.map(({ result }) => result) : []
      ),
      ["(left out: 100 characters)", long.slice(0, 100), long.slice(0, 100)]
    )
  })

  it("cuts the results of one answer to a quarter of the budget together", () => {
    const call = (id: string) => ({ id, name: "t", arguments: {} })
    const result = (id: string) => ({
      id,
      name: "t",
      result: "z".repeat(40_000),
      isError: false,
      durationMs: 1
    })
    const ids = ["a", "b", "c", "d"]
    const shown = fitPrompt(
      [
        user("q"),
        { role: "assistant", content: "", toolCalls: ids.map(call) },
        { role: "tool", results: ids.map(result) }
      ],
      4000
    )
    const last = shown.at(-1)
    const lengths = last?.role === "tool" ? last.results.map(({ result }) => String(result).indexOf("…")) : []
    assert.deepStrictEqual(lengths, [1000, 1000, 1000, 1000])
  })

  it("shows 128 tools at most, and no more than take half of the budget", () => {
    const tool = (name: string, size = 10) => ({
      name,
      description: "d".repeat(size),
      parameters: {},
      readOnly: true
    })
    const many = Array.from({ length: 200 }, (_, n) => tool(`t${n}`))
    assert.lengthOf(
      fitTools(many, (given) => given, 1_000_000),
      128
    )
    const big = [tool("a", 1000), tool("b", 100_000), tool("c", 1000)]
    assert.deepStrictEqual(
      fitTools(big, (given) => given, 2000).map(({ name }) => name),
      ["a", "c"]
    )
    assert.isBelow(promptBudget(2000, [tool("a", 1000)]), 1800)
  })

  it("shows tools up to exactly half of the budget", () => {
    const tools = ["a", "b", "c", "d"].map((name) => ({
      name,
      description: "d".repeat(500),
      parameters: {},
      readOnly: true
    }))
    const size = estimateTokens(JSON.stringify(tools[0]))
    const shown = (budget: number) => fitTools(tools, (given) => given, budget).length
    assert.deepStrictEqual(
      [4 * size - 1, 4 * size, 6 * size - 1, 6 * size].map((budget) => shown(budget)),
      [1, 2, 2, 3]
    )
  })

  it("cuts a tool result to a quarter of the budget and says so", () => {
    const [, cut] = fitPrompt([...pair("a", "y".repeat(10_000))], 1000).slice(-2)
    const result = cut?.role === "tool" ? cut.results[0]?.result : undefined
    assert.isString(result)
    assert.match(String(result), /^y{1000}… \(cut: 10000 characters in all\)$/)
  })
})
