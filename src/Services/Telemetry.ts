import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Fiber } from "effect/Fiber"
import * as Predicate from "effect/Predicate"
import * as Tracer from "effect/Tracer"
import { readTraceparent, toTraceparent } from "../Schemas/TraceContext.ts"

/** What of this process is told by OpenTelemetry (CONTRACT.md section 13), as far as those who do the work have to know. */
export interface TelemetryShape {
  /** Whether spans are made at all. Then `References.TracerEnabled` is on too, and else none costs anything. */
  readonly tracing: boolean
  /** Whether texts of users, models and tools may be put into spans. */
  readonly captureContent: boolean
  /** Whether `traceparent` is taken from requests and passed on to others, also where no spans are made. */
  readonly propagation: boolean
}

/** No spans, unless the operator has named a collector; what callers say of their trace is passed on. */
export const Telemetry = Context.Reference<TelemetryShape>("agentd/Services/Telemetry", {
  defaultValue: () => ({ tracing: false, captureContent: false, propagation: true })
})

/** Whether the `error` of a line of the log has words of a model's provider or a tool, which quote what they were given. */
export const Quotes = Context.Reference<boolean>("agentd/Services/Telemetry/Quotes", {
  defaultValue: () => false
})

/** Logs a line whose `error` has words of others: a collector gets it where texts may be told, and else without them. */
export const quoting = Effect.provideService(Quotes, true)

export type Attributes = Readonly<Record<string, unknown>>

type AnyFiber = Fiber<unknown, unknown>

/** The nearest that is in a trace: a span, where spans are made, or what somebody else has told of theirs. */
const placeOf = (fiber: AnyFiber): Tracer.AnySpan | undefined => {
  const { tracing } = fiber.getRef(Telemetry)
  let span = fiber.cache.span
  while (span !== undefined && span._tag === "Span" && (!tracing || isNone(span))) {
    span = span.parent._tag === "Some" ? span.parent.value : undefined
  }
  return span
}

/** What stands for a span where none is made. */
const isNone = ({ annotations }: Tracer.Span): boolean => Context.get(annotations, Tracer.DisablePropagation)

const spanOf = (fiber: AnyFiber): Tracer.Span | undefined => {
  if (!fiber.getRef(Telemetry).tracing) return undefined
  const place = placeOf(fiber)
  return place?._tag === "Span" ? place : undefined
}

const traceparentOf = (fiber: AnyFiber): string | null => {
  const place = placeOf(fiber)
  return place === undefined ? null : toTraceparent(place)
}

/** The trace that this belongs to, as it is kept with what is made here; null: none. */
export const traceparent: Effect.Effect<string | null> = Effect.withFiber((fiber) =>
  Effect.succeed(traceparentOf(fiber))
)

/** The same as models and tools are told it: null where nothing is passed on. */
export const outgoing: Effect.Effect<string | null> = Effect.withFiber((fiber) =>
  Effect.succeed(fiber.getRef(Telemetry).propagation ? traceparentOf(fiber) : null)
)

/** Belongs to the trace that a header or a row tells of; what is malformed changes nothing. */
export const within =
  (given: string | null | undefined) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    const context = readTraceparent(given)
    return context === undefined
      ? effect
      : Effect.provideService(effect, Tracer.ParentSpan, Tracer.externalSpan(context))
  }

/**
 * What answers a request: in the trace of its span, which is given `attributes`, or where no spans are made in the one
 * that its caller says.
 */
export const answering =
  (given: { readonly traceparent: string | undefined; readonly attributes: Attributes }) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiber((fiber) => {
      const { propagation, tracing } = fiber.getRef(Telemetry)
      if (!tracing) return propagation ? within(given.traceparent)(effect) : effect
      const span = spanOf(fiber)
      if (span === undefined) return effect
      put(span, given.attributes)
      return Effect.annotateLogs(effect, { traceId: span.traceId, spanId: span.spanId })
    })

const put = (span: Tracer.Span, attributes: Attributes): void => {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) span.attribute(name, value)
  }
}

/** Puts facts into the span that this is part of, if there is one: else they are not even made. */
export const annotate = (
  attributes: (how: TelemetryShape) => Attributes,
  name?: () => string | undefined
): Effect.Effect<void> =>
  Effect.withFiber((fiber) => {
    const span = spanOf(fiber)
    if (span !== undefined) {
      put(span, attributes(fiber.getRef(Telemetry)))
      const value = name?.()
      if (value !== undefined) Object.defineProperty(span, "name", { value })
    }
    return Effect.void
  })

/** The same for what is known outside of any fiber; nothing where no span is made. */
export const noting: Effect.Effect<((attributes: Attributes) => void) | undefined> = Effect.withFiber(
  (fiber) => {
    const span = spanOf(fiber)
    return Effect.succeed(span === undefined ? undefined : (attributes) => put(span, attributes))
  }
)

/** Marks the spans that are made here: what libraries and functions make for themselves is not told. */
const IsOfWork = Context.Reference<boolean>("agentd/Services/Telemetry/IsOfWork", {
  defaultValue: () => false
})

/** Whether a span is one of those that `docs/traces.md` describes: of a request, or of the work. */
export const isOfWork = ({
  annotations,
  kind
}: Pick<Parameters<Tracer.Tracer["span"]>[0], "annotations" | "kind">): boolean =>
  kind === "server" || Context.get(annotations, IsOfWork)

/** A failure that tells nothing but its type: its message and stack may hold texts of users, models and tools. */
const bare = (type: string): Error => {
  const error = new Error(type)
  error.name = type
  error.stack = type
  return error
}

/** What is told of a failure: the word for programs that it has, or `_OTHER` of a bug. */
const failureType = (error: unknown): string => {
  if (Predicate.hasProperty(error, "_tag") && typeof error._tag === "string") return error._tag
  return error instanceof Error ? error.name : "_OTHER"
}

export interface SpanGiven {
  readonly name: string
  readonly kind?: Tracer.SpanKind
  readonly attributes: Attributes
  /** Else it is part of what it is made in; null: of nothing. */
  readonly parent?: Tracer.AnySpan | null
  readonly links?: ReadonlyArray<Tracer.SpanLink>
  /** Else it has one at random. */
  readonly spanId?: string
}

/** The annotations of a span that is one of them. */
export const ofWork = Context.make(IsOfWork, true)

/** Begins a span, which whoever has it ends. */
const open = ({ attributes, kind, links, name, parent, spanId }: SpanGiven): Effect.Effect<Tracer.Span> =>
  Effect.map(
    Effect.makeSpan(name, {
      ...(kind !== undefined && { kind }),
      ...(links !== undefined && { links }),
      ...(parent === null ? { root: true } : parent !== undefined && { parent }),
      annotations: ofWork
    }),
    (span) => {
      if (spanId !== undefined) Object.defineProperty(span, "spanId", { value: spanId })
      put(span, attributes)
      return span
    }
  )

/** Ends a span, as an error where it has an `error.type`: that is all that is told of it. */
const close = (span: Tracer.Span, type?: string): Effect.Effect<void> =>
  Effect.map(Clock.Clock, (clock) => {
    if (type !== undefined) span.attribute("error.type", type)
    const told = span.attributes.get("error.type")
    span.end(clock.currentTimeNanosUnsafe(), typeof told === "string" ? Exit.fail(bare(told)) : Exit.void)
  })

/**
 * Makes it a span where spans are made, and else nothing at all: `given` is not asked then. A failure ends it as an
 * error of the type that `typeOf` says (nothing: it is none), a defect of `_OTHER`; an interruption as neither. What is
 * logged in it names the trace and the span.
 */
export const spanned =
  <E = unknown>(
    given: (how: TelemetryShape) => SpanGiven,
    typeOf: (error: E) => string | undefined = failureType
  ) =>
  <A, E2 extends E, R>(effect: Effect.Effect<A, E2, R>): Effect.Effect<A, E2, R> =>
    Effect.withFiber((fiber) => {
      const how = fiber.getRef(Telemetry)
      if (!how.tracing) return effect
      return Effect.acquireUseRelease(
        open(given(how)),
        (span) =>
          effect.pipe(
            Effect.provideService(Tracer.ParentSpan, span),
            Effect.annotateLogs({ traceId: span.traceId, spanId: span.spanId })
          ),
        (span, exit) => {
          if (Exit.isSuccess(exit)) return close(span)
          if (Cause.hasInterruptsOnly(exit.cause)) {
            span.attribute("agentd.interrupted", true)
            return close(span)
          }
          const failure = exit.cause.reasons.find((reason) => reason._tag === "Fail")
          return close(span, failure === undefined ? "_OTHER" : typeOf(failure.error))
        }
      )
    })
