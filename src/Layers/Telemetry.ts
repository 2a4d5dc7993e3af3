import * as Effect from "effect/Effect"
import * as HttpMiddleware from "effect/http/HttpMiddleware"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"
import type { Destination } from "../Schemas/Telemetry.ts"
import { DatabaseGauges } from "../Services/DatabaseGauges.ts"
import { Settings } from "../Services/Settings.ts"
import { Telemetry } from "../Services/Telemetry.ts"
import { telemetry } from "./Settings/Telemetry.ts"
import { Ending } from "./Telemetry/Ending.ts"
import { logsDataOf, makeLogger, type SentLine } from "./Telemetry/Logs.ts"
import * as Metrics from "./Telemetry/Metrics.ts"
import * as Post from "./Telemetry/Post.ts"
import * as Queue from "./Telemetry/Queue.ts"
import * as Resource from "./Telemetry/Resource.ts"
import { makeTracer, type SentSpan, traceDataOf } from "./Telemetry/Spans.ts"

/** Asked again and again by machines, about the process and not about anybody's work. */
const isWatching = /^\/+(health\/|metrics(\?|$))/iu

const self = Effect.gen(function* () {
  const { worker } = yield* Settings
  const { leftMillis } = yield* Ending
  const plan = yield* telemetry
  return { plan, resource: Resource.make(plan, worker), leftMillis }
})

const serializationOf = ({ protocol }: Destination) =>
  OtlpSerialization.OtlpSerialization.pipe(
    Effect.provide(protocol === "http/json" ? OtlpSerialization.layerJson : OtlpSerialization.layerProtobuf)
  )

/** With a collector for them spans are made, and told; without one none is. */
const layerTraces = Layer.unwrap(
  Effect.gen(function* () {
    const { leftMillis, plan, resource } = yield* self
    const destination = plan.destinations.traces
    const { captureContent, propagation } = plan
    if (destination === undefined)
      return Layer.succeed(Telemetry, { tracing: false, captureContent, propagation })
    const serialization = yield* serializationOf(destination)
    const tracer = Effect.gen(function* () {
      const queue = yield* Queue.make<SentSpan>({
        signal: "traces",
        batching: plan.spans,
        encode: (spans) => serialization.traces(traceDataOf(resource, Resource.scope, spans)),
        post: Post.make(destination),
        leftMillis
      })
      return makeTracer(plan, queue)
    })
    return Layer.mergeAll(
      Layer.effect(Tracer.Tracer, tracer),
      Layer.succeed(References.TracerEnabled, true),
      Layer.succeed(Telemetry, { tracing: true, captureContent, propagation }),
      Layer.succeed(HttpMiddleware.TracerDisabledWhen, ({ url }) => isWatching.test(url))
    )
  })
)

/** Beside standard error, which gets its lines as before. */
const layerLogs = Layer.unwrap(
  Effect.gen(function* () {
    const { leftMillis, plan, resource } = yield* self
    const destination = plan.destinations.logs
    if (destination === undefined) return Layer.empty
    const serialization = yield* serializationOf(destination)
    const logger = Effect.gen(function* () {
      const queue = yield* Queue.make<SentLine>({
        signal: "logs",
        batching: plan.logs,
        encode: (lines) => serialization.logs(logsDataOf(resource, Resource.scope, lines)),
        post: Post.make(destination),
        leftMillis
      })
      return makeLogger(plan, queue.push)
    })
    return Logger.layer([logger], { mergeWithExisting: true })
  })
)

/**
 * Traces and logs of all that is built upon it, for the collectors that the operator has named (CONTRACT.md section 13);
 * with none, nothing is made and nothing runs. Sent from below all of that: what is told of sending goes to standard
 * error alone.
 */
export const layer = Layer.merge(layerTraces, layerLogs).pipe(Layer.provideMerge(Ending.layer))

/** Metrics, which are looked up as for `/metrics`. */
export const layerMetrics = Layer.effectDiscard(
  Effect.gen(function* () {
    const { leftMillis, plan, resource } = yield* self
    const destination = plan.destinations.metrics
    if (destination === undefined) return
    const { refresh } = yield* DatabaseGauges
    const serialization = yield* serializationOf(destination)
    yield* Metrics.run({
      resource,
      intervalMillis: plan.metricsMillis,
      serialize: serialization.metrics,
      post: Post.make(destination),
      refresh,
      leftMillis
    })
  })
)
