import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { cronLag, cronSlots } from "../../src/Services/Metrics.ts"
import { layerAtRest } from "../support/Service.ts"
import { makeSubject, setTime, start } from "./Schedulers.ts"

const count = (outcome: string) =>
  Effect.map(Metric.value(Metric.withAttributes(cronSlots, { outcome })), (state) => Number(state.count))

describe("what a scheduler counts", () => {
  it.effect("is every slot by its outcome, and how late those were handled that were not missed", () =>
    Effect.gen(function* () {
      const { ledger, make } = yield* makeSubject
      const job = yield* make({ schedule: "* * * * *" })
      // 40 slots come due while nobody looks: the newest is handled, and more are missed than are recorded with it.
      yield* setTime("2026-11-20T08:40:07.000Z")
      const { stop } = yield* start
      yield* setTime("2026-11-20T08:40:30.000Z")
      const handled = yield* ledger(job)
      assert.lengthOf(handled, 40)
      assert.deepStrictEqual([yield* count("fired"), yield* count("missed")], [1, 39])
      const lag = yield* Metric.value(cronLag)
      assert.deepStrictEqual([lag.count, lag.sum], [1, 7])
      yield* setTime("2026-11-20T08:41:00.000Z")
      assert.deepStrictEqual([yield* count("fired"), yield* count("overlap")], [1, 1])
      assert.strictEqual((yield* Metric.value(cronLag)).count, 2)
      yield* stop
    }).pipe(Effect.provide(layerAtRest()), Effect.provideService(Metric.MetricRegistry, new Map()))
  )
})
