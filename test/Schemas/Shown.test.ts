import { assert, describe, it } from "@effect/vitest"
import { dollarsOf, printable, secondsOf, shortOf } from "../../src/Schemas/Shown.ts"

describe("what is shown on a terminal", () => {
  it("keeps lines, tabs and letters of all kinds", () => {
    const text = "a\tb\nä € 👩‍🚀 漢"
    assert.strictEqual(printable(text), text)
  })

  it("has no control character that the terminal would obey", () => {
    assert.strictEqual(printable("a\u001b[2Jb\u009bc\rd\u0007e\u0008"), "a[2Jbcde")
    assert.strictEqual(printable("\u202Eabc\u2066\u200F"), "abc")
    assert.notMatch(shortOf({ x: "\u001b]0;t\u0007" }), /\p{Cc}/u)
    assert.notMatch(shortOf("a\u001b[31m\nb"), /\p{Cc}/u)
  })

  it("shows values on one line, cut", () => {
    assert.strictEqual(shortOf({ a: 1, b: "x\ny" }), '{"a":1,"b":"x\\ny"}')
    assert.strictEqual(Array.from(shortOf("x".repeat(1000))).length, 161)
    assert.strictEqual(shortOf(undefined), "")
  })

  it("tells times and money", () => {
    assert.deepStrictEqual([secondsOf(1_234), secondsOf(61_500)], ["1.2 s", "62 s"])
    assert.deepStrictEqual([0, 0.0000123, 0.00456, 1.5].map(dollarsOf), [
      "$0.00",
      "$0.000012",
      "$0.0046",
      "$1.50"
    ])
  })
})
