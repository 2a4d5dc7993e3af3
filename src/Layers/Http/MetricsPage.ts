import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { DatabaseGauges } from "../../Services/DatabaseGauges.ts"
import { publicName } from "../../Services/Metrics.ts"

/** `GET /metrics` in the text format of Prometheus. Answers also while the database is away. */
export const layer = Layer.unwrap(
  Effect.map(DatabaseGauges, (gauges) =>
    HttpRouter.add(
      "GET",
      "/metrics",
      Effect.gen(function* () {
        yield* gauges.refresh
        return HttpServerResponse.text(yield* PrometheusMetrics.format({ metricNameMapper: publicName }), {
          contentType: "text/plain; version=0.0.4; charset=utf-8"
        })
      })
    )
  )
)
