import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { secondsOf } from "../../../src/Schemas/OpenAi/CompletionAnswer.ts"
import { completionOf } from "../../../src/Schemas/OpenAi/CompletionRequest.ts"
import { conversationOf } from "../../../src/Schemas/OpenAi/Messages.ts"

const read = (value: Schema.Json) => conversationOf({ name: "messages", value })
const refused = (value: Schema.Json): string => {
  const result = read(value)
  return Result.isFailure(result) ? result.failure.error : assert.fail("it was read")
}

const called = (...ids: ReadonlyArray<string>) => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: `f${id}`, arguments: "{}" } }))
})

describe("the messages of a chat completion", () => {
  it("are a conversation, and instructions from wherever they stand", () => {
    assert.deepStrictEqual(
      Result.getOrThrow(
        read([
          { role: "system", content: "one" },
          { role: "user", content: "hello" },
          { role: "developer", content: "two" },
          { role: "assistant", content: null, refusal: "no", audio: null, annotations: [] },
          { role: "user", content: "" }
        ])
      ),
      {
        instructions: "one\n\ntwo",
        messages: [
          { role: "user", content: "hello" },
          { role: "assistant", content: "no", toolCalls: [] },
          { role: "user", content: "" }
        ],
        content: ""
      }
    )
  })

  it("are what the user says, where there are instructions alone", () => {
    assert.deepStrictEqual(Result.getOrThrow(read([{ role: "system", content: "sum it up" }])), {
      instructions: null,
      messages: [{ role: "user", content: "sum it up" }],
      content: "sum it up"
    })
  })

  it("have results beside the calls that they are of, in any order, and calls that have none", () => {
    const tool = (id: string) => ({ role: "tool", tool_call_id: id, content: `result ${id}` })
    const { messages } = Result.getOrThrow(
      read([called("a", "b", "c"), tool("b"), tool("a"), called("a"), tool("a")])
    )
    assert.deepStrictEqual(
      messages.map((message) =>
        message.role === "tool" ? message.results.map(({ name, result }) => [name, result]) : message.role
      ),
      [
        "assistant",
        [
          ["fb", "result b"],
          ["fa", "result a"]
        ],
        "assistant",
        [["fa", "result a"]]
      ]
    )
    const none = "must be that of a call of the assistant's message before it"
    assert.strictEqual(refused([called("a"), tool("b")]), `messages[1].tool_call_id: ${none}`)
    assert.strictEqual(refused([tool("a")]), `messages[0].tool_call_id: ${none}`)
    assert.strictEqual(
      refused([called("a"), { role: "user", content: "x" }, tool("a")]),
      `messages[2].tool_call_id: ${none}`
    )
    assert.strictEqual(
      refused([called("a"), tool("a"), tool("a")]),
      "messages[2].tool_call_id: must be that of a call that has no result yet"
    )
  })
})

describe("a chat completion", () => {
  it("shows people no more than a message may have, and the model all", () => {
    const long = "x".repeat(200_000)
    const { content, given } = Result.getOrThrow(
      completionOf({ model: "default", messages: [{ role: "user", content: long }] })
    )
    assert.deepStrictEqual([content.length, given.messages?.[0]], [100_000, { role: "user", content: long }])
  })

  it("knows from an id when it was made", () => {
    // The example of the specification of ULID, in lower case.
    assert.strictEqual(secondsOf("turn_01aryz6s41tsv4rrffq69g5fav"), 1_469_918_176)
    assert.strictEqual(secondsOf("other"), 0)
  })
})
