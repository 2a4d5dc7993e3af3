import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import type { StoredMessage } from "../../../src/Schemas/Conversation.ts"
import { newResults, placeOf } from "../../../src/Schemas/UiStream/Places.ts"
import { readRequest } from "../../../src/Schemas/UiStream/Request.ts"

const stored = (id: string, content: string): StoredMessage => ({
  id: id as never,
  role: id.startsWith("u") ? "USER" : "ASSISTANT",
  content,
  createdAt: new Date(0),
  parts: null
})
const messages = [
  stored("u1", "one"),
  stored("a1", "1"),
  stored("u2", "two"),
  stored("a2", "2"),
  stored("u3", "three")
]

const sent = (...all: ReadonlyArray<readonly [id: string, text: string]>) =>
  all.map(([id, text]) => ({
    id,
    role: id.startsWith("a") ? "assistant" : "user",
    parts: [{ type: "text", text }]
  }))

const place = (body: object, isCut = false) =>
  Result.match(
    Result.flatMap(readRequest({ id: "c", ...body } as never), (request) =>
      placeOf(request, { messages, isCut })
    ),
    { onSuccess: (id) => id, onFailure: ({ error }) => error }
  )
const again = { trigger: "regenerate-message" }
const refused = /^messages: are not those that are stored/

describe("the place of a message that is answered again", () => {
  it("is found by its name, or that of its reply", () => {
    assert.strictEqual(place({ ...again, messages: sent(["u2", "two"]) }), "u2")
    assert.strictEqual(place({ ...again, messageId: "a1", messages: sent(["x", "one"]) }), "u1")
    assert.strictEqual(place({ messageId: "u1", messages: sent(["u1", "ONE"]) }), "u1")
  })

  it("is found behind the last reply that both know", () => {
    assert.strictEqual(place({ ...again, messages: sent(["x", "one"], ["a1", "1"], ["y", "two"]) }), "u2")
    assert.strictEqual(place({ ...again, messages: sent(["x", "one"]) }), "u1")
    // A reply that came to no end is stored nowhere.
    const broken = sent(["x", "one"], ["a1", "1"], ["y", "two"], ["a9", ""], ["z", "three"])
    assert.strictEqual(place({ ...again, messages: broken }), "u3")
    const failed = sent(["x", "one"], ["a1", "1"], ["y", "two"], ["a2", "2"], ["z", "three"])
    assert.strictEqual(place({ ...again, messages: failed }), "u3")
    // It was never stored.
    const missing = sent(["x", "one"], ["a2", "2"], ["y", "three"], ["z", "four"])
    assert.isUndefined(place({ ...again, messages: missing }))
  })

  it("is none where another message would go", () => {
    assert.match(`${place({ ...again, messages: sent(["x", "other"]) })}`, refused)
    assert.match(`${place({ ...again, messages: sent(["x", "one"]) }, true)}`, refused)
    // Sent alone, only the last may be asked for again.
    assert.strictEqual(place({ ...again, message: sent(["x", "three"])[0] }), "u3")
    assert.match(`${place({ ...again, message: sent(["x", "one"])[0] })}`, refused)
    assert.match(`${place({ messageId: "x", message: sent(["x", "one"])[0] })}`, refused)
  })
})

describe("results of the page's tools", () => {
  it("are new where the last reply has left the call to it", () => {
    const call = (id: string) => ({ id, name: "look", arguments: {} })
    const result = (id: string) => ({ id, name: "other", result: 1, isError: false, durationMs: 0 })
    const reply: StoredMessage = {
      ...stored("a3", ""),
      parts: [
        { role: "assistant", content: "", toolCalls: [call("done"), call("open")] },
        { role: "tool", results: [result("done")] }
      ]
    }
    const all = [result("done"), result("open"), result("none")]
    assert.deepStrictEqual(newResults(all, [reply]), [{ ...result("open"), name: "look" }])
    assert.deepStrictEqual(newResults(all, [reply, stored("u4", "four")]), [])
  })
})

describe("what useChat sends", () => {
  it("is refused in words that name the field", () => {
    const problem = (body: object) =>
      Result.match(readRequest(body as never), { onSuccess: () => "", onFailure: ({ error }) => error })
    assert.strictEqual(problem({}), "id: is required")
    assert.strictEqual(problem({ id: "c" }), "messages: is required")
    assert.strictEqual(problem({ id: "c", messages: [] }), "messages: must be 1 to 10000 items")
    assert.strictEqual(
      problem({ id: "c", messages: sent(["u", ""]) }),
      "messages[0].parts: must be 1 to 100000 characters"
    )
    assert.strictEqual(
      problem({ id: "c", messages: sent(["u", "x"]), tools: { "a b": {} } }),
      "tools: names must be 1 to 64 letters, digits, _ and -"
    )
    assert.strictEqual(problem({ id: "c", messages: sent(["u", "x"]), other: 1 }), "")
  })
})
