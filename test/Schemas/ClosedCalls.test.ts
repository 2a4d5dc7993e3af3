import { assert, describe, it } from "@effect/vitest"
import { closeCalls } from "../../src/Schemas/ClosedCalls.ts"
import { lasting } from "../../src/Schemas/Conversation.ts"
import type { PromptMessage } from "../../src/Schemas/Inference.ts"

const user = (content: string): PromptMessage => ({ role: "user", content })
const says = (content: string): PromptMessage => ({ role: "assistant", content, toolCalls: [] })
const calls = (...ids: ReadonlyArray<string>): PromptMessage => ({
  role: "assistant",
  content: "",
  toolCalls: ids.map((id) => ({ id, name: `tool_${id}`, arguments: {} }))
})
const results = (...ids: ReadonlyArray<string>): PromptMessage => ({
  role: "tool",
  results: ids.map((id) => ({ id, name: "", result: `of ${id}`, isError: false, durationMs: 1 }))
})

const labels = (messages: ReadonlyArray<PromptMessage>) =>
  messages.map((message) =>
    message.role === "tool"
      ? message.results.map(({ id, isError, name }) => `${name}:${id}${isError ? "!" : ""}`).join(" ")
      : message.role === "assistant" && message.toolCalls.length > 0
        ? `calls ${message.toolCalls.map(({ id }) => id).join(" ")}`
        : message.content
  )

describe("closeCalls", () => {
  it("leaves whole conversations as they are", () => {
    const whole = [user("a"), says("b"), user("c")]
    assert.deepStrictEqual(closeCalls(whole), whole)
    assert.deepStrictEqual(closeCalls([]), [])
  })

  it("gathers results behind their calls, in the order of these and under their names", () => {
    const given = [user("a"), calls("x", "y"), results("y"), results("x"), says("b")]
    assert.deepStrictEqual(labels(closeCalls(given)), ["a", "calls x y", "tool_x:x tool_y:y", "b"])
  })

  it("says of calls without a result that they have none", () => {
    const closed = closeCalls([user("a"), calls("x", "y"), results("y"), user("and now?")])
    assert.deepStrictEqual(labels(closed), ["a", "calls x y", "tool_x:x! tool_y:y", "and now?"])
    assert.deepStrictEqual(labels(closeCalls([calls("x")])), ["calls x", "tool_x:x!"])
    const [, message] = closeCalls([calls("x")])
    assert.isTrue(message?.role === "tool" && String(message.results[0]?.result).includes("no result"))
  })

  it("moves results that came behind a message in front of it, and none across an answer", () => {
    const given = [calls("x"), user("b"), results("x"), calls("x"), user("c")]
    assert.deepStrictEqual(labels(closeCalls(given)), [
      "calls x",
      "tool_x:x",
      "b",
      "calls x",
      "tool_x:x!",
      "c"
    ])
  })

  it("leaves results of no call out", () => {
    assert.deepStrictEqual(labels(closeCalls([results("z"), user("a"), results("y"), says("b")])), ["a", "b"])
    assert.deepStrictEqual(labels(closeCalls([calls("x"), results("z", "x")])), ["calls x", "tool_x:x"])
  })

  it("changes nothing of what it made", () => {
    const once = closeCalls([results("z"), calls("x", "y"), user("a"), results("y"), calls("z"), user("b")])
    assert.deepStrictEqual(closeCalls(once), once)
  })
})

describe("What is kept of a turn", () => {
  const reasoning = { provider: "p", model: "m", isLasting: false, parts: [] }
  const thought = (message: PromptMessage): PromptMessage => ({ ...message, reasoning }) as PromptMessage
  const thoughts = (messages: ReadonlyArray<PromptMessage>) =>
    lasting(messages).filter((message) => "reasoning" in message).length

  it("has what was thought where calls were left to the caller, and else only where it is wanted later", () => {
    assert.strictEqual(thoughts([thought(calls("x"))]), 1)
    assert.strictEqual(
      thoughts([thought(calls("w")), results("w"), thought(calls("x", "y")), results("x")]),
      2
    )
    assert.strictEqual(thoughts([thought(calls("x")), results("x"), thought(says("b"))]), 0)
    assert.strictEqual(thoughts([thought(says("b"))]), 0)
  })
})
