import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { InferenceError, type InferenceEvent } from "../../Schemas/Inference.ts"
import { costOf, nanosPerUsd, type Pricing } from "../../Schemas/Pricing.ts"
import type { Provider } from "../../Schemas/ProviderKey.ts"
import { monotonicMillis } from "../../Services/CurrentTime.ts"
import type { Model } from "../../Services/Inference.ts"
import { modelCost, modelSeconds, modelTokens, modelUnpriced, seriesOf } from "../../Services/Metrics.ts"

const secondsOf = seriesOf(modelSeconds, "provider", "outcome")
const tokensOf = seriesOf(modelTokens, "provider", "direction")
const dollarsOf = seriesOf(modelCost, "provider")
const unpricedOf = seriesOf(modelUnpriced, "provider")

type Finish = Extract<InferenceEvent, { type: "finish" }>

/**
 * The same stream of answers, and every call of it is measured: how long it took, what came of it, which tokens it took,
 * and what they cost at this price.
 */
export const measured =
  (provider: Provider, pricing: Pricing | null, stream: Model["stream"]): Model["stream"] =>
  (request, asking) =>
    Stream.unwrap(
      Effect.map(monotonicMillis, (since) => {
        let finish: Finish | undefined
        return stream(request, asking).pipe(
          Stream.mapArray((events) => {
            for (const event of events) if (event.type === "finish") finish = event
            return events
          }),
          Stream.onExit((exit) =>
            Effect.flatMap(monotonicMillis, (at) => {
              const outcome = outcomeOf(exit, finish)
              const seconds = secondsOf(provider, outcome)
              return Effect.andThen(
                Metric.update(seconds, (at - since) / 1000),
                finish === undefined ? Effect.void : countUsage(provider, pricing, finish)
              )
            })
          )
        )
      })
    )

const outcomeOf = (exit: Exit.Exit<unknown, unknown>, finish: Finish | undefined): string => {
  const failure = Option.getOrUndefined(Exit.findErrorOption(exit))
  if (failure !== undefined) return failure instanceof InferenceError ? failure.reason : "not_begun"
  if (finish === undefined) return Exit.isSuccess(exit) ? "truncated" : "interrupted"
  return finish.truncated === undefined ? "ok" : "truncated"
}

const countUsage = (provider: Provider, pricing: Pricing | null, { usage }: Finish) => {
  const nanos = costOf(usage, pricing)
  return Effect.all(
    [
      Metric.update(tokensOf(provider, "input"), usage.inputTokens),
      Metric.update(tokensOf(provider, "output"), usage.outputTokens),
      nanos === null
        ? Metric.update(unpricedOf(provider), 1)
        : Metric.update(dollarsOf(provider), nanos / nanosPerUsd)
    ],
    { discard: true }
  )
}
