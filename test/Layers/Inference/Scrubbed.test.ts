import { assert, describe, it } from "@effect/vitest"
import { scrubbed } from "../../../src/Layers/Inference/Scrubbed.ts"
import type { InferenceEvent } from "../../../src/Schemas/Inference.ts"
import { makeScrubber } from "../../../src/Schemas/Scrub.ts"

const secret = "sk-canary-0123456789"
const scrubber = makeScrubber([secret])
const [first, second] = [secret.slice(0, 9), secret.slice(9)]

const text = (delta: string, part = 1): InferenceEvent => ({ type: "text", part, delta })
const thought = (delta: string, part = 1): InferenceEvent => ({ type: "reasoning", part, delta })
const finish: InferenceEvent = { type: "finish", usage: { inputTokens: 1, outputTokens: 1 } }
const call = (argument: string): InferenceEvent => ({
  type: "tool_call",
  call: { id: "1", name: "t", arguments: { [argument]: [argument] }, providerMetadata: { a: argument } }
})

const told = (...events: ReadonlyArray<InferenceEvent>) => {
  const take = scrubbed(scrubber)
  return events.flatMap((event) => take([event]))
}

describe("the events of an answer", () => {
  it("say no secret that is cut between two of them, or between two parts", () => {
    assert.deepStrictEqual(told(text(`is ${first}`), text(`${second}!`), finish), [
      text("is "),
      text("[hidden]!"),
      finish
    ])
    assert.deepStrictEqual(told(text(first, 1), text(second, 2), finish), [text("[hidden]", 2), finish])
    assert.deepStrictEqual(told(thought(first), thought(second), finish), [thought("[hidden]"), finish])
  })

  it("come in their order, and nothing of them is lost", () => {
    assert.deepStrictEqual(told(text(`a ${first}`), call("b"), text("c"), finish), [
      text("a "),
      text(first),
      call("b"),
      text("c"),
      finish
    ])
    assert.deepStrictEqual(told(thought(first, 1), thought("x", 2), text("s"), finish), [
      thought(first, 1),
      thought("x", 2),
      text("s"),
      finish
    ])
  })

  it("keep what providers need again", () => {
    const signed: InferenceEvent = { type: "reasoning", part: 1, delta: "", metadata: { signature: secret } }
    assert.deepStrictEqual(told(thought("s"), signed, finish), [signed, thought("s"), finish])
    const [event] = told(call(secret))
    assert.deepStrictEqual(event, {
      type: "tool_call",
      call: { id: "1", name: "t", arguments: { "[hidden]": ["[hidden]"] }, providerMetadata: { a: secret } }
    })
  })

  it("are as they are where there is no secret", () => {
    const events = [text(first)]
    assert.strictEqual(scrubbed(makeScrubber(["short"]))(events), events)
  })
})
