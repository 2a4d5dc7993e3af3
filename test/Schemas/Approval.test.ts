import { assert, describe, it } from "@effect/vitest"
import { fingerprintText, needsApproval, rejection } from "../../src/Schemas/Approval.ts"

describe("approvals", () => {
  it("are needed by level of autonomy and kind of tool", () => {
    const table = (["autonomous", "semi-autonomous", "supervised"] as const).map((level) => [
      level,
      needsApproval(level, { readOnly: true }),
      needsApproval(level, { readOnly: false })
    ])
    assert.deepStrictEqual(table, [
      ["autonomous", false, false],
      ["semi-autonomous", false, true],
      ["supervised", true, true]
    ])
  })

  it("are bound to the tool and its exact arguments, whatever the order of their fields", () => {
    const text = (name: string, argument: object) =>
      fingerprintText({ id: "x", name, arguments: argument as never })
    assert.strictEqual(
      text("t", { a: 1, b: { c: [1, 2], d: null } }),
      text("t", { b: { d: null, c: [1, 2] }, a: 1 })
    )
    for (const other of [{ a: 1 }, { a: "1" }, { a: 1, b: null }, { a: [1] }]) {
      assert.notStrictEqual(text("t", { a: 2 }), text("t", other))
    }
    assert.notStrictEqual(text("t", { a: [1, 2] }), text("t", { a: [2, 1] }))
    assert.notStrictEqual(text("t", {}), text("u", {}))
  })

  it("that were refused are told to the model with the reason", () => {
    assert.match(rejection(null), /not allowed/)
    assert.match(rejection("too dear"), /too dear/)
  })
})
