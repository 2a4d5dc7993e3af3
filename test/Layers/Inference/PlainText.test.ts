import { assert, describe, it } from "@effect/vitest"
import { makePlainText } from "../../../src/Layers/Inference/PlainText.ts"

const chunk = (delta: object, more: object = {}) =>
  `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`
const text = (content: string) => chunk({ content })
const call = chunk({ tool_calls: [{ index: 0, id: "call_1", function: { name: "a", arguments: "{}" } }] })

const make = () => {
  const told: Array<string> = []
  const plain = makePlainText(
    (_, delta) => told.push(delta),
    () => undefined
  )
  const encoder = new TextEncoder()
  const pass = (sent: string) => new TextDecoder().decode(plain.pass(encoder.encode(sent)))
  return { encoder, pass, plain, told }
}

describe("the plain text of an answer", () => {
  it("goes past the package once that has told the first of it", () => {
    const { pass, plain, told } = make()
    const [role, first] = [chunk({ role: "assistant", content: "" }), text("a")]
    assert.strictEqual(pass(role + first), role + first)
    plain.told("txt-0")
    assert.strictEqual(pass(text("b") + text("c")), "")
    assert.deepStrictEqual(told, ["b", "c"])
  })

  it("waits for nothing that the package has not told yet", () => {
    const { pass, plain, told } = make()
    assert.strictEqual(pass(text("a") + text("b")), text("a") + text("b"))
    plain.told("txt-0")
    assert.strictEqual(pass(text("c")), text("c"))
    plain.told("txt-0")
    plain.told("txt-0")
    assert.strictEqual(pass(text("d")), "")
    assert.deepStrictEqual(told, ["d"])
  })

  it.each<[string, string, number?]>([
    ["a tool call", call],
    ["a thought", chunk({ reasoning_content: "hm" })],
    ["a refusal", chunk({ refusal: "no" }), 1],
    ["an end", chunk({ content: "z" }, { finish_reason: "stop" }), 1],
    ["usage", `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 1 } })}\n\n`],
    ["an error", 'data: {"error":{"message":"oops"}}\n\n'],
    ["the last line", "data: [DONE]\n\n"],
    ["what can't be read", "data: {oops\n\n"]
  ])("is the package's again behind %s", (_, other, texts = 0) => {
    const { pass, plain, told } = make()
    pass(text("a"))
    plain.told("txt-0")
    assert.strictEqual(pass(text("b") + other + text("c")), other + text("c"))
    for (let n = 0; n <= texts; n++) plain.told("txt-1")
    assert.strictEqual(pass(text("d")), "")
    assert.deepStrictEqual(told, ["b", "d"])
  })

  it.each([
    ["a refusal", chunk({ refusal: "r" })],
    [
      "text with usage",
      `data: ${JSON.stringify({ choices: [{ delta: { content: "r" } }], usage: { total_tokens: 1 } })}\n\n`
    ],
    ["text with a thought", chunk({ content: "r", reasoning_content: "hm" })],
    [
      "text of two choices",
      `data: ${JSON.stringify({ choices: [{ delta: { content: "r" } }, { index: 1, delta: {} }] })}\n\n`
    ],
    ["text at an end", chunk({ content: "r" }, { finish_reason: "stop" })]
  ])("stays behind what the package has to tell of %s", (_, other) => {
    const { pass, plain, told } = make()
    pass(text("a"))
    plain.told("txt-0")
    assert.strictEqual(pass(other + text("b")), other + text("b"))
    // That was of the other one: "b" is still to come.
    plain.told("txt-0")
    assert.strictEqual(pass(text("c")), text("c"))
    plain.told("txt-0")
    plain.told("txt-0")
    assert.strictEqual(pass(text("d")), "")
    assert.deepStrictEqual(told, ["d"])
  })

  it.each([
    ["has no blank behind its colon", 'data:{"choices":[{"delta":{"content":"r"}}]}\n\n'],
    ["has a name", `event: message\n${text("r")}`],
    ["has several lines of data", 'data: {"choices":\ndata: [{"delta":{"content":"r"}}]}\n\n'],
    ["begins with a blank line", `\n${text("r")}`],
    [
      "has text in parts",
      chunk({
        content: [
          { type: "text", text: "r" },
          { type: "text", text: "s" }
        ]
      })
    ]
  ])("is all the package's from an event on that %s", (_, other) => {
    const { pass, plain, told } = make()
    pass(text("a"))
    plain.told("txt-0")
    const sent = `${other}: ping\n\n${text("b")}`
    assert.strictEqual(pass(sent), sent)
    for (let n = 0; n < 4; n++) plain.told("txt-0")
    assert.strictEqual(pass(text("c")), text("c"))
    assert.deepStrictEqual(told, [])
  })

  it("is the same wherever its bytes are cut", () => {
    const rest = `${text("b € ")}: ping\n\n${text("c")}${chunk({}, { finish_reason: "stop" })}`
    const size = new TextEncoder().encode(rest).byteLength
    for (let at = 0; at <= size; at++) {
      const { encoder, pass, plain, told } = make()
      pass(text("a"))
      plain.told("txt-0")
      const bytes = encoder.encode(rest)
      const left = [plain.pass(bytes.subarray(0, at)), plain.pass(bytes.subarray(at)), plain.rest()]
      assert.strictEqual(Buffer.concat(left).toString(), chunk({}, { finish_reason: "stop" }))
      assert.strictEqual(told.join(""), "b € c")
    }
  })

  it.each([
    ["lines end otherwise", `${text("a")}${text("b")}`.replaceAll("\n", "\r\n")],
    ["no line ends", `data: ${"x".repeat(100_000)}`]
  ])("is all the package's where %s", (_, sent) => {
    const { pass, plain, told } = make()
    let left = ""
    for (let at = 0; at < sent.length; at += 1_000) left += pass(sent.slice(at, at + 1_000))
    assert.strictEqual(left + new TextDecoder().decode(plain.rest()), sent)
    assert.deepStrictEqual(told, [])
  })
})
