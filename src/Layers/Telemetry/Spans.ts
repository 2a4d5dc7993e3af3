import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import type * as Exit from "effect/Exit"
import * as Hex from "effect/encoding/Hex"
import * as Option from "effect/Option"
import type { TraceData } from "effect/observability/OtlpTracer"
import * as Predicate from "effect/Predicate"
import * as Tracer from "effect/Tracer"
import { isSampled, type TelemetryPlan } from "../../Schemas/Telemetry.ts"
import { isOfWork } from "../../Services/Telemetry.ts"
import { fieldsOf, sizeOf } from "./Fields.ts"
import type { Queue } from "./Queue.ts"
import { serverAttribute, serverName } from "./ServerSpans.ts"

/** A span as it is sent. */
export type SentSpan = TraceData["resourceSpans"][number]["scopeSpans"][number]["spans"][number]

type Options = Parameters<Tracer.Tracer["span"]>[0]
type Facts = Options & { readonly traceId: string }
type Plan = Pick<TelemetryPlan, "propagation" | "sampling" | "sqlSpans" | "valueLength">
type Attributes = Readonly<Record<string, unknown>>

/** The bounds of OpenTelemetry for what one span has. */
const mostAttributes = 128
const mostLinks = 128

/**
 * Makes spans, and tells of those of requests and of the work that are sampled when they are over, and if the operator
 * wants them of statements. All others, which libraries and functions make for themselves, are never told: what is in
 * them nobody has looked at. Whether a trace is sampled is decided where it
 * comes into the process or begins: all below follow, and a span that is not sampled holds its ids and nothing else. So
 * does one that begins while the queue is full: a collector that is away costs less than one that answers.
 */
export const makeTracer = (plan: Plan, { drop, isFull, push }: Queue<SentSpan>): Tracer.Tracer =>
  Tracer.make({
    span: (options) => {
      if (!isOfWork(options) && !(plan.sqlSpans && isOfDatabase(options))) return new HiddenSpan(options)
      const parent = Option.filter(options.parent, (above) => isHeeded(plan, options, above))
      const [traceId, sampled] = decide(plan, options, parent)
      const facts = { ...options, parent, traceId }
      if (!sampled) return new QuietSpan(facts)
      return isFull() ? new DroppedSpan(facts, drop) : new RecordedSpan(facts, plan, push)
    }
  })

/**
 * What a caller says of its trace counts where the operator listens to callers, and ids of 0 are none (B3 headers come here
 * as they are). What a run or slot has kept of its trace is no caller's word.
 */
const isHeeded = ({ propagation }: Plan, { kind }: Options, above: Tracer.AnySpan): boolean =>
  above._tag === "Span" ||
  ((propagation || kind !== "server") && !/^0+$/u.test(above.traceId) && !/^0+$/u.test(above.spanId))

/** A statement is called by its database, as a client of it. */
const isOfDatabase = ({ kind, name }: Options): boolean =>
  kind === "client" ? !name.startsWith("http.") : /^(sql\.|Migrator )/u.test(name)

const decide = (
  { sampling }: Plan,
  options: Options,
  parent: Option.Option<Tracer.AnySpan>
): readonly [traceId: string, sampled: boolean] => {
  if (Option.isNone(parent)) {
    const traceId = Hex.random(32)
    return [traceId, options.sampled && isSampled(sampling, traceId, undefined)]
  }
  const traceId = parent.value.traceId.padStart(32, "0")
  const isOurs = parent.value._tag === "Span"
  return [traceId, isOurs ? options.sampled : isSampled(sampling, traceId, parent.value.sampled)]
}

class QuietSpan implements Tracer.Span {
  readonly _tag = "Span"
  readonly attributes: ReadonlyMap<string, unknown> = new Map()
  readonly links: ReadonlyArray<Tracer.SpanLink> = []
  readonly sampled: boolean = false
  readonly name: string
  readonly parent: Option.Option<Tracer.AnySpan>
  readonly annotations: Context.Context<never>
  readonly kind: Tracer.SpanKind
  readonly traceId: string
  status: Tracer.SpanStatus
  #spanId: string | undefined

  constructor(options: Facts) {
    this.name = options.name
    this.parent = options.parent
    this.annotations = options.annotations
    this.kind = options.kind
    this.traceId = options.traceId
    this.status = { _tag: "Started", startTime: options.startTime }
  }

  get spanId(): string {
    this.#spanId ??= Hex.random(16)
    return this.#spanId
  }

  end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    if (this.status._tag === "Ended") return
    this.status = { _tag: "Ended", startTime: this.status.startTime, endTime, exit }
  }

  attribute(_key: string, _value: unknown): void {}
  event(_name: string, _startTime: bigint, _attributes?: Attributes): void {}
  addLinks(_links: ReadonlyArray<Tracer.SpanLink>): void {}
}

/** Is sampled, so that others go on with the trace, and not told of, which is counted. */
class DroppedSpan extends QuietSpan {
  override readonly sampled = true
  readonly #drop: () => void

  constructor(options: Facts, drop: () => void) {
    super(options)
    this.#drop = drop
  }

  override end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    if (this.status._tag === "Started") this.#drop()
    super.end(endTime, exit)
  }
}

/** Is not told of, whether it is sampled or not: what is below it, or written within it, is of its parent. */
class HiddenSpan extends QuietSpan {
  constructor(options: Options) {
    const parent = Option.getOrUndefined(options.parent)
    super({
      ...options,
      annotations: Context.add(options.annotations, Tracer.DisablePropagation, true),
      traceId: parent?.traceId ?? Hex.random(32)
    })
  }

  override get spanId(): string {
    return Option.getOrUndefined(this.parent)?.spanId ?? super.spanId
  }
}

class RecordedSpan extends QuietSpan {
  override readonly attributes = new Map<string, unknown>()
  override readonly links: Array<Tracer.SpanLink>
  override readonly sampled = true
  readonly #length: number
  readonly #ended: (span: SentSpan, size: number) => void
  readonly #dropped = { attributes: 0, links: 0 }

  constructor(options: Facts, { valueLength }: Plan, ended: (span: SentSpan, size: number) => void) {
    super(options)
    this.links = options.links.slice(0, mostLinks)
    this.#dropped.links = options.links.length - this.links.length
    this.#length = valueLength
    this.#ended = ended
  }

  override attribute(key: string, value: unknown): void {
    if (this.status._tag === "Ended") return
    const told = this.kind === "server" ? serverAttribute(this.attributes, key, value) : { key, value }
    if (told === undefined) return
    if (this.attributes.size >= mostAttributes && !this.attributes.has(told.key)) {
      this.#dropped.attributes += 1
      return
    }
    this.attributes.set(told.key, told.value)
  }

  override addLinks(links: ReadonlyArray<Tracer.SpanLink>): void {
    if (this.status._tag === "Ended") return
    const taken = links.slice(0, mostLinks - this.links.length)
    this.links.push(...taken)
    this.#dropped.links += links.length - taken.length
  }

  override end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    if (this.status._tag === "Ended") return
    const { startTime } = this.status
    super.end(endTime, exit)
    const sent = this.#sent(startTime, endTime, exit)
    this.#ended(sent, sizeOf(sent))
  }

  #sent(startTime: bigint, endTime: bigint, exit: Exit.Exit<unknown, unknown>): SentSpan {
    const failure = failureOf(exit)
    if (failure !== undefined && !this.attributes.has("error.type")) {
      const status = this.attributes.get("http.response.status_code")
      this.attributes.set("error.type", status === undefined ? failure : String(status))
    }
    return {
      traceId: this.traceId,
      spanId: this.spanId,
      parentSpanId: Option.getOrUndefined(this.parent)?.spanId,
      name: this.kind === "server" ? serverName(this.name, this.attributes) : this.name,
      kind: kinds[this.kind],
      startTimeUnixNano: String(startTime),
      endTimeUnixNano: String(endTime),
      attributes: fieldsOf(this.attributes, this.#length),
      droppedAttributesCount: this.#dropped.attributes,
      // What is logged meanwhile, which Effect would put here, is in the log alone: it may quote users.
      events: [],
      droppedEventsCount: 0,
      status: { code: failure === undefined ? 0 : 2 },
      links: this.links.map(({ attributes, span }) => ({
        traceId: span.traceId.padStart(32, "0"),
        spanId: span.spanId,
        attributes: fieldsOf(Object.entries(attributes), this.#length),
        droppedAttributesCount: 0
      })),
      droppedLinksCount: this.#dropped.links
    }
  }
}

const kinds = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const

/**
 * What was cancelled is no error, and what went well has no status, which is for those to set who look at it later. Of a
 * failure its type alone is told: its words may be those of users, and are in the log.
 */
const failureOf = (exit: Exit.Exit<unknown, unknown>): string | undefined => {
  if (exit._tag === "Success" || Cause.hasInterruptsOnly(exit.cause)) return undefined
  const failure = Cause.squash(exit.cause)
  if (Predicate.hasProperty(failure, "_tag") && typeof failure._tag === "string") return failure._tag
  return failure instanceof Error ? failure.name : "_OTHER"
}

/** The spans of a batch, with what is said of the process. */
export const traceDataOf = (
  resource: TraceData["resourceSpans"][number]["resource"],
  scope: TraceData["resourceSpans"][number]["scopeSpans"][number]["scope"],
  spans: ReadonlyArray<SentSpan>
): TraceData => ({ resourceSpans: [{ resource, scopeSpans: [{ scope, spans: [...spans] }] }] })
