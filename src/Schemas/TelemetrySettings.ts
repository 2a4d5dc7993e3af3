import { isBaseUrl } from "./ProviderKey.ts"
import type { Setting, Whole } from "./Setting.ts"
import { choice, flag, text, whole } from "./SettingForms.ts"
import { attributesProblem, headersProblem, ratioOf, samplers } from "./Telemetry.ts"

const endpoint = (what: string) =>
  text(what, {
    form: "`http://…` or `https://…`",
    problem: (value) =>
      isBaseUrl(value) && !value.includes("#")
        ? undefined
        : "must be an http or https address without a user name",
    fallback: null,
    trimmed: true
  })

const headers = (what: string) =>
  text(what, {
    form: "`name=value,name=value`, values in percent-encoding",
    problem: headersProblem,
    fallback: null,
    trimmed: true,
    secret: true
  })

const protocols = ["http/protobuf", "http/json"]

const protocol = (what: string) =>
  text(what, {
    form: protocols.map((name) => `\`${name}\``).join(", "),
    problem: (value) =>
      protocols.includes(value) ? undefined : `must be one of ${protocols.join(", ")}: gRPC is not spoken`,
    fallback: null,
    trimmed: true
  })

const compression = (what: string) => choice(what, { values: ["gzip", "none"], fallback: null })

const millis = <Fallback extends number | null>(
  what: string,
  fallback: Fallback,
  maximum: number
): Whole<Fallback> => whole(what, { minimum: 1, maximum, unit: "milliseconds", fallback })

const exporter = (what: string) => choice(what, { values: ["otlp", "none"], fallback: null })

const queue = (what: string) => whole(what, { minimum: 1, maximum: 100_000, unit: "", fallback: 2048 })

const batch = (what: string) => whole(what, { minimum: 1, maximum: 10_000, unit: "", fallback: 512 })

const instead = (signal: string) => `the same for ${signal} alone`

/** What is told of the process to a collector (CONTRACT.md section 13), by OpenTelemetry's own variables. */
export const telemetry = {
  OTEL_SDK_DISABLED: flag("nothing is sent and no span is made, whatever else is set", { fallback: false }),
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint(
    "a collector: traces, metrics and logs are sent to `v1/traces`, `v1/metrics` and `v1/logs` below it ([opentelemetry.md](opentelemetry.md)); unset: nothing is sent"
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint("where traces alone are sent, as it is"),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: endpoint("where metrics alone are sent, as it is"),
  OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: endpoint("where logs alone are sent, as it is"),
  OTEL_EXPORTER_OTLP_HEADERS: headers("headers of these requests, as a key of the collector"),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: headers(instead("traces")),
  OTEL_EXPORTER_OTLP_METRICS_HEADERS: headers(instead("metrics")),
  OTEL_EXPORTER_OTLP_LOGS_HEADERS: headers(instead("logs")),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol("how they are written; unset: `http/protobuf`"),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol(instead("traces")),
  OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: protocol(instead("metrics")),
  OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: protocol(instead("logs")),
  OTEL_EXPORTER_OTLP_COMPRESSION: compression("how they are compressed; unset: `none`"),
  OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: compression(instead("traces")),
  OTEL_EXPORTER_OTLP_METRICS_COMPRESSION: compression(instead("metrics")),
  OTEL_EXPORTER_OTLP_LOGS_COMPRESSION: compression(instead("logs")),
  OTEL_EXPORTER_OTLP_TIMEOUT: millis("how long a request to the collector may take", 10_000, 60_000),
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: millis(instead("traces"), null, 60_000),
  OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: millis(instead("metrics"), null, 60_000),
  OTEL_EXPORTER_OTLP_LOGS_TIMEOUT: millis(instead("logs"), null, 60_000),
  OTEL_TRACES_EXPORTER: exporter(
    "`none`: no traces; `otlp` without an endpoint: to `http://localhost:4318`; unset: `otlp` where there is an endpoint"
  ),
  OTEL_METRICS_EXPORTER: exporter("the same for metrics"),
  OTEL_LOGS_EXPORTER: exporter("the same for logs"),
  OTEL_SERVICE_NAME: text("what the service is called; unset: `agentd`", {
    form: "text",
    problem: () => undefined,
    fallback: null,
    trimmed: true
  }),
  OTEL_RESOURCE_ATTRIBUTES: text("what else is said of the process with all that is sent", {
    form: "`deployment.environment.name=production,…`, values in percent-encoding",
    problem: attributesProblem,
    fallback: null,
    trimmed: true
  }),
  OTEL_TRACES_SAMPLER: choice("which traces are kept", {
    values: samplers,
    fallback: "parentbased_always_on"
  }),
  OTEL_TRACES_SAMPLER_ARG: text("which share of the traces a sampler by `traceidratio` keeps; unset: `1`", {
    form: "0 to 1, as `0.25`",
    problem: (value) => (ratioOf(value) === undefined ? "must be a number from 0 to 1" : undefined),
    fallback: null,
    trimmed: true
  }),
  OTEL_PROPAGATORS: text(
    "`none`: the `traceparent` of a request is not taken up, and none is passed on; `baggage` is carried nowhere",
    {
      form: "`tracecontext`, `baggage`, separated by commas, or `none`",
      problem: (value) =>
        /^\s*(none|(tracecontext|baggage)(\s*,\s*(tracecontext|baggage))*)\s*$/u.test(value)
          ? undefined
          : "must be tracecontext, baggage, both separated by a comma, or none",
      fallback: "tracecontext,baggage"
    }
  ),
  OTEL_BSP_SCHEDULE_DELAY: millis("how long a span that is over waits for others, at most", 5_000, 60_000),
  OTEL_BSP_MAX_QUEUE_SIZE: queue("how many spans wait to be sent, at most; more are dropped"),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: batch("how many spans are sent at once, at most"),
  OTEL_BLRP_SCHEDULE_DELAY: millis("how long a line of the log waits for others, at most", 1_000, 60_000),
  OTEL_BLRP_MAX_QUEUE_SIZE: queue("how many lines of the log wait to be sent, at most; more are dropped"),
  OTEL_BLRP_MAX_EXPORT_BATCH_SIZE: batch("how many lines of the log are sent at once, at most"),
  OTEL_METRIC_EXPORT_INTERVAL: whole("how often metrics are sent", {
    minimum: 1000,
    maximum: 3_600_000,
    unit: "milliseconds",
    fallback: 60_000
  }),
  OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: whole("how much of a text is kept in a span or a line of the log", {
    minimum: 32,
    maximum: 1_000_000,
    unit: "characters",
    fallback: 16_384
  }),
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: flag(
    "texts of users, models and tools are put into spans ([opentelemetry.md](opentelemetry.md#texts))",
    { fallback: false }
  ),
  AGENTD_TRACE_SQL: flag("a span for each statement of the database, too", { fallback: false })
} as const satisfies Readonly<Record<string, Setting>>
