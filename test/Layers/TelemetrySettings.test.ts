import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Environment from "../../src/Layers/Environment.ts"
import { sentenceOf } from "../../src/Layers/Runtime.ts"
import { telemetry } from "../../src/Layers/Settings/Telemetry.ts"

const read = (environment: Readonly<Record<string, string>>) =>
  Effect.provide(telemetry, Environment.layer(environment))

describe("what is told by OpenTelemetry", () => {
  it.effect("is nothing where nothing is set, or all is switched off", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* read({})).destinations, {})
      const off = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://a", OTEL_SDK_DISABLED: "true" }
      assert.deepStrictEqual((yield* read(off)).destinations, {})
      const other = {
        OTEL_SERVICE_NAME: "a",
        OTEL_TRACES_SAMPLER: "always_on",
        OTEL_EXPORTER_OTLP_ENDPOINT: ""
      }
      assert.deepStrictEqual((yield* read(other)).destinations, {})
    })
  )

  it.effect("goes below one address, as OpenTelemetry has it by default", () =>
    Effect.gen(function* () {
      const { destinations, ...plan } = yield* read({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://a:4318" })
      const usual = { headers: [], protocol: "http/protobuf", compression: "none", timeoutMillis: 10_000 }
      assert.deepEqual(destinations, {
        traces: { ...usual, url: "http://a:4318/v1/traces" },
        metrics: { ...usual, url: "http://a:4318/v1/metrics" },
        logs: { ...usual, url: "http://a:4318/v1/logs" }
      } as typeof destinations)
      assert.deepStrictEqual(plan, {
        serviceName: undefined,
        attributes: [],
        sampling: { sampler: "parentbased_always_on", ratio: 1 },
        spans: { queue: 2048, batch: 512, delayMillis: 5000 },
        logs: { queue: 2048, batch: 512, delayMillis: 1000 },
        metricsMillis: 60_000,
        valueLength: 16_384,
        captureContent: false,
        sqlSpans: false,
        propagation: true
      })
    })
  )

  it.effect("is what each signal says for itself, before what is said for all", () =>
    Effect.gen(function* () {
      const { destinations } = yield* read({
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://a",
        OTEL_EXPORTER_OTLP_HEADERS: "k=all",
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
        OTEL_EXPORTER_OTLP_TIMEOUT: "500",
        OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://b/as/it/is",
        OTEL_EXPORTER_OTLP_TRACES_HEADERS: "k=own",
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/protobuf",
        OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: "700",
        OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: "none",
        OTEL_METRICS_EXPORTER: "none"
      })
      assert.deepEqual(destinations, {
        traces: {
          url: "http://b/as/it/is",
          headers: [["k", "own"]],
          protocol: "http/protobuf",
          compression: "none",
          timeoutMillis: 700
        },
        logs: {
          url: "http://a/v1/logs",
          headers: [["k", "all"]],
          protocol: "http/json",
          compression: "gzip",
          timeoutMillis: 500
        }
      })
    })
  )

  it.effect("goes to this machine where an exporter is named and no address", () =>
    Effect.gen(function* () {
      const { destinations } = yield* read({ OTEL_LOGS_EXPORTER: "otlp" })
      assert.deepStrictEqual(Object.keys(destinations), ["logs"])
      assert.strictEqual(destinations.logs?.url, "http://localhost:4318/v1/logs")
    })
  )

  it.effect("is refused at the start where it can't be meant so, and no secret is repeated", () =>
    Effect.gen(function* () {
      const sentence = yield* Effect.map(
        Effect.flip(
          read({ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc", OTEL_EXPORTER_OTLP_HEADERS: "hunter2 is no header" })
        ),
        sentenceOf
      )
      assert.include(sentence, "OTEL_EXPORTER_OTLP_PROTOCOL must be one of http/protobuf, http/json")
      assert.include(sentence, "OTEL_EXPORTER_OTLP_HEADERS must be")
      assert.notInclude(sentence, "hunter2")
    })
  )
})
