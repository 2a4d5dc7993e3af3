import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import { settings } from "../../Schemas/SettingsTable.ts"
import {
  type Destination,
  endpointOf,
  pairsOf,
  ratioOf,
  type Signal,
  type TelemetryPlan
} from "../../Schemas/Telemetry.ts"
import { choice, flag, time, whole, word } from "./Readers.ts"

/** Where OpenTelemetry looks for a collector that is on the same machine. */
const usualEndpoint = "http://localhost:4318"

const names = {
  traces: {
    exporter: "OTEL_TRACES_EXPORTER",
    endpoint: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    headers: "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    protocol: "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    compression: "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION",
    timeout: "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"
  },
  metrics: {
    exporter: "OTEL_METRICS_EXPORTER",
    endpoint: "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    headers: "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
    protocol: "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL",
    compression: "OTEL_EXPORTER_OTLP_METRICS_COMPRESSION",
    timeout: "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT"
  },
  logs: {
    exporter: "OTEL_LOGS_EXPORTER",
    endpoint: "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
    headers: "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
    protocol: "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL",
    compression: "OTEL_EXPORTER_OTLP_LOGS_COMPRESSION",
    timeout: "OTEL_EXPORTER_OTLP_LOGS_TIMEOUT"
  }
} as const

/** A value is of both the signal and all of them; that of the signal wins. */
const either = <A>(own: Config.Config<A>, shared: Config.Config<A>, fallback: A) =>
  own.pipe(
    Config.orElse(() => shared),
    Config.withDefault(fallback)
  )

const trimmed = (name: Parameters<typeof word>[0]) => Config.map(word(name), (value) => value.trim())

const unset = Config.withDefault<string | undefined>(undefined)

const destination = Effect.fnUntraced(function* (signal: Signal) {
  const name = names[signal]
  const exporter = yield* trimmed(name.exporter).pipe(unset)
  const own = yield* trimmed(name.endpoint).pipe(unset)
  const base = yield* trimmed("OTEL_EXPORTER_OTLP_ENDPOINT").pipe(unset)
  const shared = base ?? (exporter === "otlp" ? usualEndpoint : undefined)
  const url = own ?? (shared === undefined ? undefined : endpointOf(shared, signal))
  if (url === undefined || exporter === "none") return {}
  const headers = yield* either(trimmed(name.headers), trimmed("OTEL_EXPORTER_OTLP_HEADERS"), "")
  const found: Destination = {
    url,
    headers: pairsOf(headers) ?? [],
    protocol: (yield* either(
      trimmed(name.protocol),
      trimmed("OTEL_EXPORTER_OTLP_PROTOCOL"),
      "http/protobuf"
    )) as Destination["protocol"],
    compression: yield* either(
      choice(name.compression),
      choice("OTEL_EXPORTER_OTLP_COMPRESSION"),
      "none" as const
    ),
    timeoutMillis: yield* either(
      Config.map(word(name.timeout), Number),
      time("OTEL_EXPORTER_OTLP_TIMEOUT"),
      settings.OTEL_EXPORTER_OTLP_TIMEOUT.fallback
    )
  }
  return { [signal]: found }
})

/** What is told of this process by OpenTelemetry, and where (CONTRACT.md section 13). */
export const telemetry = Effect.gen(function* () {
  const isDisabled = yield* flag("OTEL_SDK_DISABLED")
  const found = {
    ...(yield* destination("traces")),
    ...(yield* destination("metrics")),
    ...(yield* destination("logs"))
  }
  const ratio = yield* trimmed("OTEL_TRACES_SAMPLER_ARG").pipe(Config.map(ratioOf), Config.withDefault(1))
  const propagators = yield* trimmed("OTEL_PROPAGATORS").pipe(
    Config.withDefault<string>(settings.OTEL_PROPAGATORS.fallback)
  )
  const plan: TelemetryPlan = {
    destinations: isDisabled ? {} : found,
    serviceName: yield* trimmed("OTEL_SERVICE_NAME").pipe(unset),
    attributes: pairsOf((yield* trimmed("OTEL_RESOURCE_ATTRIBUTES").pipe(unset)) ?? "") ?? [],
    sampling: {
      sampler: yield* choice("OTEL_TRACES_SAMPLER").pipe(
        Config.withDefault(settings.OTEL_TRACES_SAMPLER.fallback)
      ),
      ratio: ratio ?? 1
    },
    spans: {
      queue: yield* whole("OTEL_BSP_MAX_QUEUE_SIZE"),
      batch: yield* whole("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"),
      delayMillis: yield* time("OTEL_BSP_SCHEDULE_DELAY")
    },
    logs: {
      queue: yield* whole("OTEL_BLRP_MAX_QUEUE_SIZE"),
      batch: yield* whole("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE"),
      delayMillis: yield* time("OTEL_BLRP_SCHEDULE_DELAY")
    },
    metricsMillis: yield* time("OTEL_METRIC_EXPORT_INTERVAL"),
    valueLength: yield* whole("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"),
    captureContent: yield* flag("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"),
    sqlSpans: yield* flag("AGENTD_TRACE_SQL"),
    propagation: propagators.includes("tracecontext")
  }
  return plan
})
