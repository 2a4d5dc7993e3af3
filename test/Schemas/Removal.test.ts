import { assert, describe, it } from "@effect/vitest"
import { firstBatch, nextBatch, pauseAfter } from "../../src/Schemas/Removal.ts"

describe("A batch of a removal", () => {
  it.each([
    [100, 50, 100],
    [100, 25, 200],
    [100, 1, 200],
    [100, 0, 200],
    [100, 75, 67],
    [100, 100, 50],
    [100, 10_000, 50],
    [800, 1, 1_000],
    [1_000, 0, 1_000],
    [12, 9_000, 10],
    [10, 9_000, 10]
  ])("of %i rows that took %i ms is followed by one of %i", (size, took, next) => {
    assert.strictEqual(nextBatch(size, took), next)
  })

  it.each([[250], [20_000], [1], [400]])(
    "settles near 50 ms where a thousand rows take %i ms",
    (perThousand) => {
      let size = firstBatch
      for (let n = 0; n < 20; n++) size = nextBatch(size, (size * perThousand) / 1_000)
      const took = (size * perThousand) / 1_000
      assert.isTrue(size === 1_000 || size === 10 || Math.abs(took - 50) < 10, `${size} rows take ${took} ms`)
    }
  )

  it.each([
    [0, 20],
    [20, 20],
    [300, 300],
    [60_000, 10_000]
  ])("that took %i ms is followed by a pause of %i", (took, pause) => {
    assert.strictEqual(pauseAfter(took), pause)
  })
})
