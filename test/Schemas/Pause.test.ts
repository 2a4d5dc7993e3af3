import { assert, describe, it } from "@effect/vitest"
import { pauseMillis } from "../../src/Schemas/Pause.ts"

const bounds = { first: 500, most: 4_000 }

describe("A pause after failures", () => {
  it("doubles with each of them, up to a limit", () => {
    const pauses = [1, 2, 3, 4, 5, 2_000].map((failures) => pauseMillis(failures, 0, bounds))
    assert.deepStrictEqual(pauses, [500, 1_000, 2_000, 4_000, 4_000, 4_000])
  })

  it("is spread over the second half of it", () => {
    assert.strictEqual(pauseMillis(3, 0.5, bounds), 1_500)
    assert.strictEqual(pauseMillis(3, 1, bounds), 1_000)
  })
})
