import { assert, describe, it } from "@effect/vitest"
import type { PromptMessage } from "../../src/Schemas/Inference.ts"
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
