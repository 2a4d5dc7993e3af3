import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"
import { makeTracer, type SentSpan } from "../../../src/Layers/Telemetry/Spans.ts"
import { ofWork } from "../../../src/Services/Telemetry.ts"

const usual = {
  sampling: { sampler: "parentbased_always_on", ratio: 1 },
  propagation: true,
  sqlSpans: false,
  valueLength: 64
} as const

type Plan = Parameters<typeof makeTracer>[0]

/** What libraries and functions make for themselves; all else here is of the work. */
const isOthers = /^(a-database|sql\.|http\.|a-function)/u

/** The spans of an effect that are told, by name. */
const told = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>, plan: Partial<Plan> = {}) {
  const sent = new Map<string, SentSpan>()
  const push = (span: SentSpan) => sent.set(span.name, span)
  const made = makeTracer({ ...usual, ...plan }, { push, isFull: () => false, drop: () => undefined })
  const tracer = Tracer.make({
    span: (options) => made.span(isOthers.test(options.name) ? options : { ...options, annotations: ofWork })
  })
  yield* Effect.exit(effect).pipe(
    Effect.provideService(Tracer.Tracer, tracer),
    Effect.provideService(References.TracerEnabled, true)
  )
  return sent
})

const fields = (span: SentSpan | undefined) =>
  Object.fromEntries((span?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]))

const remote = (sampled: boolean) =>
  Tracer.externalSpan({ traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", sampled })

describe("spans", () => {
  it.effect("are told with their place in the trace", () =>
    Effect.gen(function* () {
      const sent = yield* told(
        Effect.void.pipe(
          Effect.withSpan("inner", { kind: "client" }),
          Effect.withSpan("outer", { parent: remote(true) })
        )
      )
      const [outer, inner] = [sent.get("outer"), sent.get("inner")]
      assert.strictEqual(outer?.traceId, remote(true).traceId)
      assert.strictEqual(outer?.parentSpanId, remote(true).spanId)
      assert.strictEqual(inner?.traceId, outer?.traceId)
      assert.strictEqual(inner?.parentSpanId, outer?.spanId)
      assert.deepStrictEqual([outer?.kind, inner?.kind], [1, 3])
      assert.match(inner?.spanId ?? "", /^[\da-f]{16}$/u)
    })
  )

  it.effect(
    "of a request begin a trace where nothing is taken from callers; what is kept with a run stays",
    () =>
      Effect.gen(function* () {
        const work = Effect.all([
          Effect.withSpan(Effect.void, "request", { kind: "server", parent: remote(true) }),
          Effect.withSpan(Effect.void, "execution", { parent: remote(true) })
        ])
        const sent = yield* told(work, { propagation: false })
        assert.notStrictEqual(sent.get("request")?.traceId, remote(true).traceId)
        assert.isUndefined(sent.get("request")?.parentSpanId)
        assert.strictEqual(sent.get("execution")?.traceId, remote(true).traceId)
      })
  )

  it.effect("of the database are in none's place", () =>
    Effect.gen(function* () {
      const statement = Effect.useSpan("a-database", { kind: "client" }, (span) =>
        Effect.sync(() => span.attribute("db.system.name", "postgresql"))
      )
      const work = Effect.all([statement, Effect.withSpan(Effect.void, "inner")]).pipe(
        Effect.withSpan("sql.transaction"),
        Effect.withSpan("outer")
      )
      const sent = yield* told(work)
      assert.deepStrictEqual([...sent.keys()], ["inner", "outer"])
      assert.strictEqual(sent.get("inner")?.parentSpanId, sent.get("outer")?.spanId)
      const all = yield* told(work, { sqlSpans: true })
      assert.deepStrictEqual([...all.keys()], ["a-database", "inner", "sql.transaction", "outer"])
    })
  )

  it.effect("that libraries and functions make for themselves are not told, nor in anyone's place", () =>
    Effect.gen(function* () {
      const asked = Effect.withSpan(Effect.void, "http.client GET", {
        kind: "client",
        attributes: { "url.full": "http://a/?key=1" }
      })
      const work = Effect.all([asked, Effect.withSpan(Effect.void, "inner")]).pipe(
        Effect.withSpan("a-function"),
        Effect.withSpan("outer")
      )
      for (const sqlSpans of [false, true]) {
        const sent = yield* told(work, { sqlSpans })
        assert.deepStrictEqual([...sent.keys()], ["inner", "outer"])
        assert.strictEqual(sent.get("inner")?.parentSpanId, sent.get("outer")?.spanId)
      }
      const alone = Effect.withSpan(Effect.void, "a-function")
      assert.strictEqual((yield* told(alone)).size, 0)
      assert.strictEqual(
        (yield* told(Effect.withSpan(alone, "a-function", { parent: remote(true) }))).size,
        0
      )
    })
  )

  it.effect("follow the decision of the caller, and then that of the one above", () =>
    Effect.gen(function* () {
      const work = (sampled: boolean) =>
        Effect.currentSpan.pipe(
          Effect.tap((span) => Effect.sync(() => assert.strictEqual(span.sampled, sampled))),
          Effect.withSpan("inner"),
          Effect.withSpan("outer", { parent: remote(sampled) })
        )
      assert.strictEqual((yield* told(work(true))).size, 2)
      assert.strictEqual((yield* told(work(false))).size, 0)
      const always = { sampling: { sampler: "always_on", ratio: 1 } } as const
      const outer = Effect.withSpan(Effect.withSpan(Effect.void, "inner"), "outer", { parent: remote(false) })
      assert.strictEqual((yield* told(outer, always)).size, 2)
      const never = { sampling: { sampler: "always_off", ratio: 1 } } as const
      assert.strictEqual((yield* told(outer, never)).size, 0)
    })
  )

  it.effect("are below nothing that has an id of 0", () =>
    Effect.gen(function* () {
      const { spanId, traceId } = remote(true)
      for (const ids of [
        { traceId: "0".repeat(32), spanId },
        { traceId: "0".repeat(16), spanId },
        { traceId, spanId: "0".repeat(16) }
      ]) {
        const parent = Tracer.externalSpan({ ...ids, sampled: true })
        const sent = yield* told(Effect.withSpan(Effect.void, "GET", { kind: "server", parent }))
        assert.isUndefined(sent.get("GET")?.parentSpanId)
        assert.notStrictEqual(sent.get("GET")?.traceId, traceId)
        assert.match(sent.get("GET")?.traceId ?? "", /[1-9a-f]/u)
      }
    })
  )

  it.effect("hold nothing while there is no place for them, and are counted once", () =>
    Effect.gen(function* () {
      let [dropped, full] = [0, true]
      const sent: Array<string> = []
      const tracer = makeTracer(usual, {
        push: ({ name }) => sent.push(name),
        isFull: () => full,
        drop: () => void dropped++
      })
      const request = Effect.currentSpan.pipe(
        Effect.map((span) => {
          span.attribute("http.route", "/")
          return [span.sampled, span.attributes.size]
        }),
        Effect.withSpan("request", { kind: "server" }),
        Effect.provideService(Tracer.Tracer, tracer),
        Effect.provideService(References.TracerEnabled, true)
      )
      assert.deepStrictEqual(yield* request, [true, 0])
      assert.deepStrictEqual([sent, dropped], [[], 1])
      full = false
      yield* request
      assert.deepStrictEqual([sent, dropped], [["request /"], 1])
    })
  )

  it.effect("tell of a failure its type alone, and of a cancellation nothing", () =>
    Effect.gen(function* () {
      const failing = Effect.withSpan(Effect.die(new TypeError("the words of a user")), "failing")
      const cancelled = Effect.withSpan(Effect.interrupt, "cancelled")
      const sent = yield* told(Effect.andThen(Effect.exit(failing), cancelled))
      assert.strictEqual(sent.get("failing")?.status.code, 2)
      assert.strictEqual(fields(sent.get("failing"))["error.type"], "TypeError")
      assert.notInclude(JSON.stringify([...sent]), "words of a user")
      assert.strictEqual(sent.get("cancelled")?.status.code, 0)
    })
  )

  it.effect("of requests have their route in the name, and neither a query nor a token", () =>
    Effect.gen(function* () {
      const token = `agentd_${"a".repeat(43)}`
      const attributes = {
        "client.address": "10.0.0.1",
        "http.route": "/api/runs/:id/events",
        "url.full": "http://a/?secret=1",
        "url.query": "secret=1",
        "url.path": `/api/runs/${token}`
      }
      const work = Effect.annotateCurrentSpan("client.address", "127.0.0.1").pipe(
        Effect.withSpan("GET", { kind: "server", attributes })
      )
      const [span] = (yield* told(work)).values()
      assert.strictEqual(span?.name, "GET /api/runs/{id}/events")
      const told_ = fields(span)
      assert.strictEqual(told_["client.address"], "10.0.0.1")
      assert.strictEqual(told_["network.peer.address"], "127.0.0.1")
      assert.notInclude(JSON.stringify(span), "secret")
      assert.notInclude(JSON.stringify(span), token)
    })
  )

  it.effect("are bounded", () =>
    Effect.gen(function* () {
      const work = Effect.gen(function* () {
        const span = yield* Effect.currentSpan
        for (let index = 0; index < 200; index++) {
          span.attribute(`key${index}`, "x".repeat(1000))
          span.event("the words of a user", 0n)
        }
        span.addLinks(Array.from({ length: 200 }, () => ({ span: remote(true), attributes: {} })))
      })
      const span = (yield* told(Effect.withSpan(work, "large"))).get("large")
      assert.deepInclude(span, {
        droppedAttributesCount: 72,
        // What is logged is in the log alone.
        events: [],
        droppedLinksCount: 72
      })
      assert.strictEqual(span?.attributes.length, 128)
      assert.strictEqual(String(fields(span).key0).length, 64)
    })
  )
})
