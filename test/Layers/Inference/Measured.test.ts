import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Stream from "effect/Stream"
import { measured } from "../../../src/Layers/Inference/Measured.ts"
import { InferenceError, type InferenceEvent } from "../../../src/Schemas/Inference.ts"
import type { Pricing } from "../../../src/Schemas/Pricing.ts"
import { modelCost, modelUnpriced } from "../../../src/Services/Metrics.ts"

const pricing: Pricing = { inputPerMillion: 3, cachedInputPerMillion: 0.3, outputPerMillion: 15 }
const finish: InferenceEvent = {
  type: "finish",
  usage: { inputTokens: 1_000, outputTokens: 200, cachedInputTokens: 500 }
}
const broken = new InferenceError({ reason: "unreachable", error: "the model can't be reached" })

const ask = (price: Pricing | null, stream: Stream.Stream<InferenceEvent, InferenceError>) =>
  measured(
    "openai",
    price,
    () => stream
  )({ system: "", messages: [], tools: [] }, undefined).pipe(Stream.runDrain, Effect.ignore)

const ofOpenAi = (metric: Metric.Counter<number>) =>
  Effect.map(Metric.value(Metric.withAttributes(metric, { provider: "openai" })), ({ count }) =>
    Number(count)
  )

describe("a model that is measured", () => {
  it.effect("costs what its tokens do, and is counted apart where its price is not known", () =>
    Effect.gen(function* () {
      yield* ask(pricing, Stream.make(finish))
      yield* ask(pricing, Stream.make(finish))
      assert.closeTo(yield* ofOpenAi(modelCost), 2 * 0.00465, 1e-12)
      assert.strictEqual(yield* ofOpenAi(modelUnpriced), 0)
      yield* ask(null, Stream.make(finish))
      assert.closeTo(yield* ofOpenAi(modelCost), 2 * 0.00465, 1e-12)
      assert.strictEqual(yield* ofOpenAi(modelUnpriced), 1)
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("costs nothing where there was no answer", () =>
    Effect.gen(function* () {
      yield* ask(pricing, Stream.fail(broken))
      yield* ask(null, Stream.fail(broken))
      assert.deepStrictEqual([yield* ofOpenAi(modelCost), yield* ofOpenAi(modelUnpriced)], [0, 0])
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )
})
