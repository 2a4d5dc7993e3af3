import { assert, describe, it } from "@effect/vitest"
import { instructionsOf, nextEvents } from "../../../src/Layers/Inference/OfflineScript.ts"
import type { InferenceRequest, PromptMessage } from "../../../src/Schemas/Inference.ts"

const request = (...messages: ReadonlyArray<PromptMessage>): InferenceRequest => ({
  system: null,
  messages,
  tools: []
})

const textOf = (events: ReturnType<typeof nextEvents>) =>
  events.map((event) => (event.type === "text" ? event.delta : "")).join("")

describe("the offline provider", () => {
  it("reads one instruction per line that begins with call", () => {
    assert.deepStrictEqual(
      instructionsOf('Hi\ncall a {"x":1}\r\n  call b\nplease call c {}\ncall d {oops\ncall'),
      [
        { type: "call", name: "a", arguments: { x: 1 } },
        { type: "call", name: "b", arguments: {} },
        { type: "unreadable", line: "call d {oops" }
      ]
    )
  })

  it("reads no arguments that a body may not have, and no line for longer than it is", () => {
    const deep = `call a ${"[".repeat(40_000)}${"]".repeat(40_000)}`
    assert.deepStrictEqual(instructionsOf(deep), [{ type: "unreadable", line: deep }])
    const blanks = `call a b${" ".repeat(99_991)}c`
    assert.deepStrictEqual(instructionsOf(blanks), [{ type: "unreadable", line: blanks }])
    assert.deepStrictEqual(instructionsOf("\tcall\u2003a\u3000{}\u00a0"), [
      { type: "call", name: "a", arguments: {} }
    ])
  })

  it("says a long text in no more than some thousand deltas, as it is", () => {
    const events = nextEvents(request({ role: "user", content: "a ".repeat(50_000) }), "c")
    assert.isBelow(events.length, 2_100)
    assert.include(textOf(events), "a ".repeat(50_000))
  })

  it("calls one tool per answer, then answers with the results", () => {
    const user: PromptMessage = { role: "user", content: "call a {}\ncall b {}" }
    const first = nextEvents(request(user), "c1")
    assert.deepStrictEqual(first[0], { type: "tool_call", call: { id: "c1", name: "a", arguments: {} } })
    assert.strictEqual(first.at(-1)?.type, "finish")
    const result = { isError: false, durationMs: 1 }
    const after: ReadonlyArray<PromptMessage> = [
      user,
      { role: "assistant", content: "", toolCalls: [{ id: "c1", name: "a", arguments: {} }] },
      { role: "tool", results: [{ id: "c1", name: "a", result: { n: 7 }, ...result }] }
    ]
    const second = nextEvents(request(...after), "c2")
    assert.deepStrictEqual(second[0], { type: "tool_call", call: { id: "c2", name: "b", arguments: {} } })
    const last = nextEvents(
      request(
        ...after,
        { role: "assistant", content: "", toolCalls: [{ id: "c2", name: "b", arguments: {} }] },
        { role: "tool", results: [{ id: "c2", name: "b", result: "no", ...result, isError: true }] }
      ),
      "c3"
    )
    assert.include(textOf(last), 'a returned: {"n":7}')
    assert.include(textOf(last), "b failed: no")
  })

  it("counts only the results since the last message of the user", () => {
    const events = nextEvents(
      request(
        { role: "user", content: "call a {}" },
        { role: "assistant", content: "", toolCalls: [{ id: "c1", name: "a", arguments: {} }] },
        { role: "tool", results: [{ id: "c1", name: "a", result: 1, isError: false, durationMs: 0 }] },
        { role: "assistant", content: "done", toolCalls: [] },
        { role: "user", content: "call b {}" }
      ),
      "c2"
    )
    assert.deepStrictEqual(events[0], { type: "tool_call", call: { id: "c2", name: "b", arguments: {} } })
  })

  it("says that it is no model, in several deltas that give the text back", () => {
    const events = nextEvents(request({ role: "user", content: "Hello  there\n" }), "c")
    assert.isAbove(events.filter((event) => event.type === "text").length, 5)
    assert.include(textOf(events), "offline provider")
    assert.isTrue(textOf(events).endsWith("You wrote: Hello  there\n"))
  })
})
