import { assert, describe, it } from "@effect/vitest"
import { begin, end, notYet, total } from "../../src/Schemas/Waited.ts"

describe("What was waited in all", () => {
  it("adds up waits, and not what lies between them", () => {
    const first = end(begin(notYet, 100), 130)
    assert.strictEqual(total(first, 1_000), 30)
    const second = begin(first, 1_000)
    assert.strictEqual(total(second, 1_005), 35)
    assert.strictEqual(total(end(second, 1_010), 5_000), 40)
  })

  it("counts waits at the same time once", () => {
    const both = begin(begin(notYet, 0), 10)
    const one = end(both, 20)
    assert.strictEqual(total(one, 25), 25)
    assert.strictEqual(total(end(one, 30), 99), 30)
  })
})
