import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import type * as HttpBody from "effect/http/HttpBody"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Layer from "effect/Layer"
import * as OtlpExporter from "effect/observability/OtlpExporter"
import * as OtlpMetrics from "effect/observability/OtlpMetrics"
import type { Resource } from "effect/observability/OtlpResource"
import { OtlpSerialization } from "effect/observability/OtlpSerialization"
import { publicName } from "../../Services/Metrics.ts"
import * as Losses from "./Losses.ts"
import type { Answer } from "./Post.ts"
import { scope } from "./Resource.ts"

type Data = OtlpMetrics.MetricsData
type Sent = Data["resourceMetrics"][number]["scopeMetrics"][number]["metrics"][number]

/** In the code of UCUM, as the name says it. */
const unitOf = (name: string): string => {
  if (/_seconds(_total)?$/u.test(name)) return "s"
  if (/_bytes(_total)?$/u.test(name)) return "By"
  return "1"
}

/** Under the name that `/metrics` has it by. Since the start of the process nothing is known of the least and the most. */
const named = (metric: Sent): Sent => {
  const name = publicName(metric.name)
  const told = { ...metric, name, unit: unitOf(name) }
  if (metric.histogram === undefined) return told
  const dataPoints = metric.histogram.dataPoints.map(({ max: _max, min: _min, ...point }) => point)
  return { ...told, histogram: { ...metric.histogram, dataPoints } }
}

const rewritten = (resource: Resource, data: Data): Data => ({
  resourceMetrics: data.resourceMetrics.map(({ scopeMetrics }) => ({
    resource,
    scopeMetrics: scopeMetrics.map(({ metrics }) => ({ scope, metrics: metrics.map(named) }))
  }))
})

interface Options {
  readonly resource: Resource
  readonly intervalMillis: number
  readonly serialize: (data: Data) => HttpBody.HttpBody
  readonly post: (body: HttpBody.HttpBody) => Effect.Effect<Answer>
  /** Brings up to date what is only known to those who ask. */
  readonly refresh: Effect.Effect<void>
  /** How long the last of them may be sent when the scope closes. */
  readonly leftMillis: Effect.Effect<number>
}

const unused = () => {
  throw new Error("metrics alone are written here")
}

/**
 * Sends what `/metrics` shows, under the same names, once in an interval and when the scope closes: sums since the
 * start (cumulative), so that what the collector misses it learns with the next. One request at a time, tried once.
 */
export const run = ({ intervalMillis, leftMillis, post, refresh, resource, serialize }: Options) =>
  Effect.gen(function* () {
    const losses = yield* Losses.make("metrics")
    let isOver = false
    const deliver = Effect.fnUntraced(function* (body: HttpBody.HttpBody) {
      const answer = yield* post(body)
      if (answer._tag !== "Taken") losses.count(1, answer.reason)
      yield* losses.tell
    })
    // It looks at what there is and writes it down; when, and what becomes of it, is decided here.
    const client = HttpClient.make((request) =>
      (isOver ? Effect.void : deliver(request.body)).pipe(
        Effect.map(() => HttpClientResponse.fromWeb(request, new Response(null, { status: 200 })))
      )
    )
    const serialization = OtlpSerialization.of({
      traces: unused,
      logs: unused,
      metrics: (data) => serialize(rewritten(resource, data))
    })
    const flusher = yield* OtlpExporter.Flusher
    yield* OtlpMetrics.make({
      url: "http://localhost",
      resource: { serviceName: scope.name },
      exportInterval: "Infinity",
      shutdownTimeout: 0
    }).pipe(
      Effect.provideService(HttpClient.HttpClient, client),
      Effect.provideService(OtlpSerialization, serialization),
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: {} }))
    )
    yield* Effect.sleep(intervalMillis).pipe(
      Effect.andThen(refresh),
      Effect.andThen(flusher.flush),
      Effect.forever,
      Effect.forkScoped
    )
    yield* Effect.addFinalizer(() =>
      Effect.flatMap(leftMillis, (left) =>
        Effect.timeoutOption(Effect.interruptible(flusher.flush), left)
      ).pipe(
        Effect.andThen(
          Effect.sync(() => {
            isOver = true
          })
        )
      )
    )
  }).pipe(Effect.provide(Layer.fresh(OtlpExporter.layerFlusher)))
