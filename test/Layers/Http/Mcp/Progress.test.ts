import { assert, describe, it } from "@effect/vitest"
import * as Progress from "../../../../src/Layers/Http/Faces/Mcp/Progress.ts"
import { responding, thinking, toolCalled, waitingApproval } from "../../../../src/Schemas/RunEvent.ts"

const paramsOf = (message: unknown) =>
  (message as { readonly params: { readonly progress: number; readonly message: string } } | undefined)
    ?.params

describe("progress of a call", () => {
  it("is told in words, an answer that grows once a second, and again where nothing is", () => {
    const progress = Progress.make("token")
    const call = { id: "call_1", name: "recall", arguments: {} }
    const told = [
      progress.of({ id: 1, event: thinking }, 0),
      progress.of({ id: 2, event: responding(null, "abc") }, 0),
      progress.of({ id: 3, event: responding(null, "de") }, 999),
      progress.of({ id: 4, event: responding(null, "f") }, 1_000),
      progress.again(),
      progress.again(),
      progress.of({ id: 5, event: toolCalled(call) }, 1_001),
      progress.of({ id: 1_000_006, event: waitingApproval("appr_1", "call_1") }, 1_002)
    ].map(paramsOf)
    assert.deepStrictEqual(
      told.map((params) => params?.message),
      [
        "thinking",
        "answering (3 characters)",
        undefined,
        "answering (6 characters)",
        "answering (6 characters)",
        "answering (6 characters)",
        "calling recall",
        "waiting for the approval appr_1"
      ]
    )
    const numbers = told.flatMap((params) => (params === undefined ? [] : [params.progress]))
    assert.deepStrictEqual(numbers, [1, 2, 4, 4.001, 4.002, 5, 1_000_006])
  })

  it("is nothing to who asked for none", () => {
    const progress = Progress.make(undefined)
    assert.isUndefined(progress.of({ id: 1, event: thinking }, 0))
    assert.isUndefined(progress.again())
  })
})
