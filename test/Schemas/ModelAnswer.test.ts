import { assert, describe, it } from "@effect/vitest"
import type { InferenceEvent, PromptMessage } from "../../src/Schemas/Inference.ts"
import { storableJson } from "../../src/Schemas/Json.ts"
import { makeAnswer } from "../../src/Schemas/ModelAnswer.ts"

const collect = (deltas: ReadonlyArray<string>) => {
  const answer = makeAnswer([])
  const told = deltas.map((delta) => answer.take({ type: "text", delta }))
  return { told: [...told, answer.rest()], text: answer.result().text }
}

describe("the answer of a model", () => {
  it("keeps a character whole that is split between two deltas", () => {
    const [high = "", low = ""] = Array.from({ length: 2 }, (_, index) => "🙂"[index])
    assert.deepStrictEqual(collect([`a${high}`, `${low}b`]), { told: ["a", "🙂b", ""], text: "a🙂b" })
    assert.deepStrictEqual(collect([`a${high}`]), { told: ["a", "\uFFFD"], text: "a\uFFFD" })
    assert.deepStrictEqual(collect([high, high, low]).text, "\uFFFD🙂")
    assert.deepStrictEqual(collect([low]).text, "\uFFFD")
  })

  it("replaces what can't be stored, and tells what it keeps", () => {
    const { text, told } = collect(["a\u0000b", "c"])
    assert.strictEqual(text, "a\uFFFDbc")
    assert.strictEqual(told.join(""), text)
  })

  it("gives calls ids that are unique in the conversation", () => {
    const before: ReadonlyArray<PromptMessage> = [
      { role: "assistant", content: "", toolCalls: [{ id: "call_0", name: "t", arguments: {} }] }
    ]
    const answer = makeAnswer(before)
    for (const id of ["call_0", "call_0", "", "", "x"]) {
      answer.take({ type: "tool_call", call: { id, name: "t", arguments: {} } })
    }
    assert.deepStrictEqual(
      answer.result().toolCalls.map(({ id }) => id),
      ["call_0_2", "call_0_3", "call", "call_2", "x"]
    )
  })
})

describe("what a model thought", () => {
  const thinker = { provider: "p", model: "m", isLasting: false }
  const usage = { inputTokens: 1, outputTokens: 1 }
  const take = (...events: ReadonlyArray<InferenceEvent>) => {
    const answer = makeAnswer([])
    for (const event of events) answer.take(event)
    answer.take({ type: "finish", usage, thinker })
    answer.rest()
    return answer
  }
  const call: InferenceEvent = { type: "tool_call", call: { id: "c", name: "t", arguments: {} } }

  it("is kept in order, with what came to each part last", () => {
    const { reasoning, text } = take(
      { type: "reasoning", part: 1, delta: "", metadata: { p: { id: 1, data: null } } },
      { type: "reasoning", part: 1, delta: "I " },
      { type: "text", part: 2, delta: "a" },
      { type: "reasoning", part: 1, delta: "think", metadata: { p: { id: 1, data: "x" } } },
      { type: "text", part: 2, delta: "b" },
      { type: "text", part: 3, delta: "c" },
      { type: "text", part: 2, delta: "", metadata: { p: "s" } },
      call,
      { type: "text", part: 3, delta: "d" },
      call
    ).result()
    assert.strictEqual(text, "abcd")
    assert.deepStrictEqual(reasoning, {
      ...thinker,
      parts: [
        { type: "reasoning", text: "I think", metadata: { p: { id: 1, data: "x" } } },
        { type: "text", length: 2, metadata: { p: "s" } },
        { type: "text", length: 1 },
        { type: "tool_call" },
        { type: "text", length: 1 },
        { type: "tool_call" }
      ]
    })
  })

  it("is not kept where nothing is left to be asked, unless its provider wants it later", () => {
    const thought: InferenceEvent = { type: "reasoning", part: 1, delta: "hm" }
    assert.isUndefined(take(thought, { type: "text", delta: "a" }).result().reasoning)
    assert.isUndefined(take({ type: "text", delta: "a" }, call).result().reasoning)
    const lasting = makeAnswer([])
    lasting.take(thought)
    lasting.take({ type: "finish", usage, thinker: { ...thinker, isLasting: true } })
    assert.deepStrictEqual(lasting.result().reasoning?.parts, [{ type: "reasoning", text: "hm" }])
  })

  it("can be stored, and counts to the length of the answer", () => {
    const answer = take(
      { type: "reasoning", part: 1, delta: "a\u0000\ud800", metadata: { p: { "k\u0000": "\udc00" } } },
      call
    )
    assert.deepStrictEqual(answer.result().reasoning?.parts[0], {
      type: "reasoning",
      text: "a\uFFFD\uFFFD",
      metadata: { p: { "k\uFFFD": "\uFFFD" } }
    })
    assert.strictEqual(answer.length() - take(call).length(), 3 + JSON.stringify({ p: { "k ": " " } }).length)
  })

  it("keeps a character whole that is split between two thoughts", () => {
    const [high = "", low = ""] = "🙂".split("")
    const { reasoning } = take(
      { type: "reasoning", part: 1, delta: high },
      { type: "reasoning", part: 1, delta: low },
      call
    ).result()
    assert.deepStrictEqual(reasoning?.parts[0], { type: "reasoning", text: "🙂" })
  })
})

describe("storableJson", () => {
  it("replaces what PostgreSQL refuses, in keys and values", () => {
    assert.deepStrictEqual(storableJson({ "a\u0000": ["\ud800", 1, null, { b: true }] }), {
      "a\uFFFD": ["\uFFFD", 1, null, { b: true }]
    })
  })
  it("cuts off what is nested too deeply", () => {
    let deep: object = {}
    for (let depth = 0; depth < 10_000; depth++) deep = { deep }
    assert.include(JSON.stringify(storableJson(deep as never)), "nested too deeply")
  })
})
