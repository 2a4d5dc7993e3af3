import { assert, describe, it } from "@effect/vitest"
import { sharesOf } from "../../src/Schemas/DatabasePool.ts"

describe("the connections of a node", () => {
  it.each([
    [1, 1, 0],
    [2, 1, 1],
    [3, 2, 1],
    [6, 5, 1],
    [7, 5, 2],
    [10, 7, 3],
    [100, 70, 30]
  ])("are %i: %i for the work and %i for lists", (connections, work, lists) => {
    assert.deepStrictEqual(sharesOf(connections), { work, lists })
  })
})
