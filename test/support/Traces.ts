import * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"
import { isOfWork, Telemetry, type TelemetryShape } from "../../src/Services/Telemetry.ts"

/** All that a span tells, as one text. */
const shown = (span: Tracer.NativeSpan): string =>
  JSON.stringify(
    [
      span.name,
      [...span.attributes],
      span.events,
      span.links.map(({ attributes }) => attributes),
      span.status._tag === "Ended" && span.status.exit._tag === "Failure"
        ? span.status.exit.cause.reasons.map((reason) =>
            reason._tag === "Fail" && reason.error instanceof Error
              ? [reason.error.name, reason.error.message]
              : reason._tag === "Interrupt"
                ? reason._tag
                : [String(reason), JSON.stringify(reason)]
          )
        : null
    ],
    (_, value) => (typeof value === "bigint" ? String(value) : value)
  )

const hidden = (options: Parameters<Tracer.Tracer["span"]>[0]) => ({
  ...options,
  sampled: false,
  annotations: Context.add(options.annotations, Tracer.DisablePropagation, true)
})

/** Spans as a collector would get them: those that are sampled, as they began. */
export const makeTraces = (how: Partial<TelemetryShape> = {}) => {
  const made: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      if (!isOfWork(options)) return new Tracer.NativeSpan(hidden(options))
      const span = new Tracer.NativeSpan(options)
      const end = span.end.bind(span)
      // The tracer of the service tells no events, and of how a request ended a type and no words (`Layers/Telemetry/Spans.ts`).
      if (options.kind === "server") span.end = (at) => end(at, Exit.void)
      span.event = () => undefined
      made.push(span)
      return span
    }
  })
  const telemetry = { tracing: true, captureContent: false, propagation: true, ...how }
  const layer = Layer.mergeAll(
    Layer.succeed(Tracer.Tracer, tracer),
    Layer.succeed(References.TracerEnabled, telemetry.tracing),
    Layer.succeed(Telemetry, telemetry)
  )
  const spans = () => made.filter(({ sampled }) => sampled)
  return {
    layer,
    made,
    spans,
    shown: () => made.map(shown).join("\n"),
    named: (name: RegExp) => spans().filter((span) => name.test(span.name)),
    /** Of every span of a trace its depth and name, in the order in which they began. */
    tree: (traceId: string) =>
      spans()
        .filter((span) => span.traceId === traceId)
        .map((span) => {
          let depth = 0
          let parent = Option.getOrUndefined(span.parent)
          while (parent?._tag === "Span") {
            depth++
            parent = Option.getOrUndefined(parent.parent)
          }
          return `${"  ".repeat(depth)}${span.name}`
        })
  }
}

export const attributesOf = (span: Tracer.Span | undefined) =>
  Object.fromEntries([...(span?.attributes ?? [])].map(([name, value]) => [name, value]))

export const parentOf = (span: Tracer.Span | undefined) =>
  span === undefined ? undefined : Option.getOrUndefined(span.parent)

/** The error of a span, as it is told. */
export const errorOf = (span: Tracer.Span | undefined) =>
  span?.status._tag === "Ended" && span.status.exit._tag === "Failure"
    ? span.status.exit.cause.reasons.flatMap((reason) =>
        reason._tag === "Fail" && reason.error instanceof Error ? [reason.error.message] : []
      )[0]
    : undefined

export const isEnded = (span: Tracer.Span): boolean => span.status._tag === "Ended"
