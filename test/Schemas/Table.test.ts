import { assert, describe, it } from "@effect/vitest"
import { fieldsOf, tableOf, textOf } from "../../src/Schemas/Table.ts"

describe("a table for people", () => {
  it("has its columns one under the other", () => {
    const lines = [
      { id: "a", at: new Date(0), none: null },
      { id: "longer", at: new Date(1), none: "x" }
    ]
    assert.strictEqual(
      tableOf(lines),
      [
        "id      at                        none",
        "a       1970-01-01T00:00:00.000Z  -",
        "longer  1970-01-01T00:00:00.001Z  x"
      ].join("\n")
    )
    assert.strictEqual(fieldsOf({ a: 1, b: null }), "a: 1\nb: -")
  })

  it("shows a name that would order a terminal about as what it is", () => {
    assert.strictEqual(
      textOf("a\u001b[31m\nb\u0085\u202e\u2028c\u007f"),
      "a\\u{1b}[31m\\u{a}b\\u{85}\\u{202e}\\u{2028}c\\u{7f}"
    )
    assert.strictEqual(textOf("Zoë 日本"), "Zoë 日本")
  })
})
