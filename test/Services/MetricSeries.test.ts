import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { seriesOf } from "../../src/Services/Metrics.ts"

describe("The series of a metric", () => {
  it.effect("is one for the same values, and another for others", () =>
    Effect.gen(function* () {
      const calls = Metric.counter("calls_of_this_test_total")
      const of = seriesOf(calls, "source", "outcome")
      assert.strictEqual(of("builtin", "ok"), of("builtin", "ok"))
      yield* Metric.update(of("builtin", "ok"), 2)
      yield* Metric.update(of("ok", "builtin"), 3)
      const { count } = yield* Metric.value(
        Metric.withAttributes(calls, { source: "builtin", outcome: "ok" })
      )
      assert.strictEqual(count, 2)
    })
  )
})
