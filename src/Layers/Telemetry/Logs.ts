import * as Cause from "effect/Cause"
import * as Logger from "effect/Logger"
import type * as LogLevel from "effect/LogLevel"
import type { LogsData } from "effect/observability/OtlpLogger"
import type { Resource } from "effect/observability/OtlpResource"
import * as References from "effect/References"
import type { TelemetryPlan } from "../../Schemas/Telemetry.ts"
import { Quotes } from "../../Services/Telemetry.ts"
import { fieldsOf, printed, sizeOf } from "./Fields.ts"

/** A line of the log as it is sent. */
export type SentLine = NonNullable<
  LogsData["resourceLogs"][number]["scopeLogs"][number]["logRecords"]
>[number]

const severities: Readonly<Partial<Record<LogLevel.LogLevel, NonNullable<SentLine["severityNumber"]>>>> = {
  Trace: 1,
  Debug: 5,
  Info: 9,
  Warn: 13,
  Error: 17,
  Fatal: 21
}

/** What a line has by itself here. */
const ownFields: ReadonlySet<string> = new Set(["traceId", "spanId"])

/**
 * The lines that standard error gets, with the same facts as fields, and the span in which they were written; words of
 * providers and tools where texts may be told alone.
 */
export const makeLogger = (
  { captureContent, valueLength: length }: Pick<TelemetryPlan, "captureContent" | "valueLength">,
  written: (line: SentLine, size: number) => void
) =>
  Logger.make<unknown, void>(({ cause, date, fiber, logLevel, message }) => {
    const isQuoting = !captureContent && fiber.getRef(Quotes)
    const fields = Object.entries(fiber.getRef(References.CurrentLogAnnotations)).flatMap(([key, value]) =>
      ownFields.has(key) || (isQuoting && key === "error")
        ? []
        : [[key, typeof value === "string" ? printed(value, length) : value] as const]
    )
    const span = fiber.cache.span
    const isTraced = span !== undefined && /^[\da-f]{16}$/u.test(span.spanId)
    const time = String(BigInt(date.getTime()) * 1_000_000n)
    const words = Array.isArray(message) ? message : [message]
    const severityNumber = severities[logLevel]
    const line: SentLine = {
      timeUnixNano: time,
      observedTimeUnixNano: time,
      ...(severityNumber !== undefined && { severityNumber }),
      severityText: logLevel.toUpperCase(),
      body: { stringValue: printed(words.map(String).join(" "), length) },
      attributes: fieldsOf([...fields, ...exceptionOf(cause)], length),
      droppedAttributesCount: 0,
      ...(isTraced && {
        traceId: span.traceId.padStart(32, "0"),
        spanId: span.spanId,
        flags: span.sampled ? 1 : 0
      })
    }
    written(line, sizeOf(line))
  })

const exceptionOf = (cause: Cause.Cause<unknown>): ReadonlyArray<readonly [string, unknown]> => {
  const [error] = Cause.prettyErrors(cause)
  return error === undefined
    ? []
    : [
        ["exception.type", error.name],
        ["exception.message", error.message],
        ["exception.stacktrace", Cause.pretty(cause)]
      ]
}

/** The lines of a batch, with what is said of the process. */
export const logsDataOf = (
  resource: Resource,
  scope: { readonly name: string; readonly version: string },
  lines: ReadonlyArray<SentLine>
): LogsData => ({ resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords: [...lines] }] }] })
