import { assert, describe, it } from "@effect/vitest"
import { mostAttempts, outcomeOf, pauseAfter, refusalOf } from "../../src/Schemas/WebhookAttempts.ts"

const hour = 3_600_000

describe("the schedule of a delivery", () => {
  it.each([
    [1, 5_000],
    [2, 300_000],
    [3, 1_800_000],
    [4, 2 * hour],
    [5, 5 * hour],
    [6, 10 * hour],
    [7, 14 * hour],
    [8, 20 * hour],
    [9, 24 * hour]
  ])("after attempt %i is %i ms, a tenth more or less", (attempt, pause) => {
    assert.deepStrictEqual(
      [0, 0.5, 1].map((random) => pauseAfter(attempt, random)),
      [(9 * pause) / 10, pause, (11 * pause) / 10]
    )
    assert.deepStrictEqual(outcomeOf(null, attempt, 0.5), { type: "retry", afterMillis: pause })
  })

  it("ends with the tenth attempt, and with any behind it", () => {
    assert.strictEqual(mostAttempts, 10)
    assert.deepStrictEqual(
      [10, 11].map((attempt) => outcomeOf(500, attempt, 0.5)),
      [{ type: "failed" }, { type: "failed" }]
    )
  })

  it.each([
    [199, "retry"],
    [200, "delivered"],
    [204, "delivered"],
    [299, "delivered"],
    [300, "retry"],
    [308, "retry"],
    [404, "retry"],
    [409, "retry"],
    [410, "gone"],
    [411, "retry"],
    [429, "retry"],
    [599, "retry"]
  ])("takes an answer of %i for %s", (status, type) => {
    assert.strictEqual(outcomeOf(status, 1, 0).type, type)
    assert.strictEqual(refusalOf(status) === null, type === "delivered")
    if (type !== "retry") assert.strictEqual(outcomeOf(status, 10, 0).type, type)
  })
})
