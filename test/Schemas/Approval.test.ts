import { assert, describe, it } from "@effect/vitest"
import { endUndecided, fingerprintText, rejection } from "../../src/Schemas/Approval.ts"
import { needsApproval } from "../../src/Schemas/Autonomy.ts"
import { RunId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import { newRun } from "../../src/Schemas/Run.ts"

describe("approvals", () => {
  it("are needed by level of autonomy and kind of tool", () => {
    const table = (["autonomous", "semi-autonomous", "supervised"] as const).map((level) => [
      level,
      needsApproval(level, null),
      needsApproval(level, { readOnly: true }),
      needsApproval(level, { readOnly: false })
    ])
    assert.deepStrictEqual(table, [
      ["autonomous", false, false, false],
      ["semi-autonomous", false, false, true],
      ["supervised", true, true, true]
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

  it("are bound to the order of lists, however deep and whatever they are of", () => {
    const text = (argument: object) => fingerprintText({ id: "x", name: "t", arguments: argument as never })
    const lists: ReadonlyArray<ReadonlyArray<unknown>> = [
      [1, 2],
      ["a", "b"],
      [{ to: "a" }, { to: "b" }],
      [["a"], ["b"]]
    ]
    for (const list of lists) {
      const other = list.toReversed()
      assert.notStrictEqual(text(list), text(other))
      assert.notStrictEqual(text({ steps: list }), text({ steps: other }))
      assert.notStrictEqual(text({ steps: [{ inner: list }] }), text({ steps: [{ inner: other }] }))
    }
    assert.strictEqual(text([{ a: 1, b: [{ c: 2, d: 3 }] }]), text([{ b: [{ d: 3, c: 2 }], a: 1 }]))
  })

  it("that were refused are told to the model with the reason", () => {
    assert.match(rejection(null), /not allowed/)
    assert.match(rejection("too dear"), /too dear/)
  })

  it("that nobody decides about in time end their run, which says so", () => {
    const at = new Date(60_000)
    const run = newRun({
      id: RunId.make("run"),
      workspaceId: WorkspaceId.make("workspace"),
      prompt: "Ask",
      createdAt: new Date(0)
    })
    assert.deepStrictEqual(endUndecided({ ...run, status: "WAITING_APPROVAL", attempts: 2, epoch: 2 }, at), {
      ...run,
      status: "FAILED",
      error: "nobody decided in time about a tool call that needs approval",
      errorCode: "approval_expired",
      attempts: 2,
      epoch: 2,
      finishedAt: at,
      updatedAt: at
    })
  })
})
