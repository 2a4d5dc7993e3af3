import { assert, describe, it } from "@effect/vitest"
import { titleOf, toPreview } from "../../src/Schemas/Conversation.ts"
import type { MessageId } from "../../src/Schemas/Ids.ts"
import { codePoints, cut, textProblem } from "../../src/Schemas/Text.ts"

describe("text", () => {
  it("counts code points, not UTF-16 units", () => {
    assert.strictEqual(codePoints("a😀é"), 3)
    assert.isUndefined(textProblem("😀".repeat(100), 1, 100))
    assert.strictEqual(textProblem("😀".repeat(101), 1, 100), "must be 1 to 100 characters")
  })
  it("refuses nothing but white space where text is required", () => {
    assert.strictEqual(textProblem(" \t\n", 1, 9), "must not be only white space")
    assert.isUndefined(textProblem(" \t\n", 0, 9))
    assert.isUndefined(textProblem("", 0, 9))
    assert.strictEqual(textProblem("", 1, 9), "must be 1 to 9 characters")
  })
  it("refuses NUL and lone surrogates, which PostgreSQL or UTF-8 cannot hold", () => {
    assert.strictEqual(textProblem("a\u0000", 1, 9), "must not contain NUL characters")
    assert.strictEqual(textProblem("a\ud83d", 1, 9), "must be well-formed Unicode")
  })
  it("cuts at code points", () => {
    assert.strictEqual(cut("😀😀😀", 2), "😀😀")
    assert.strictEqual(cut("ab", 2), "ab")
  })
})

describe("the title of a conversation", () => {
  it("is the first message in one line", () => {
    assert.strictEqual(titleOf("  Hello\n  there "), "Hello there")
  })
  it("is cut to 80 code points at the end of a word", () => {
    const title = titleOf("word ".repeat(30))
    assert.strictEqual(title, Array.from({ length: 16 }, () => "word").join(" "))
    assert.strictEqual(codePoints(titleOf(`${"a".repeat(79)} bcd`)), 79)
    assert.strictEqual(codePoints(titleOf(`${"a".repeat(80)} bcd`)), 80)
  })
  it("is cut inside a word that alone is too long", () => {
    assert.strictEqual(titleOf("😀".repeat(90)), "😀".repeat(80))
  })
})

describe("the preview of a message", () => {
  it("is cut to 200 code points", () => {
    const message = { id: "msg_1" as MessageId, role: "USER" as const, createdAt: new Date(0) }
    assert.strictEqual(toPreview({ ...message, content: "😀".repeat(201) }).content, "😀".repeat(200))
  })
})
