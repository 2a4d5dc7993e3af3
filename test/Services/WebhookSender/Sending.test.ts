import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { TestClock } from "effect/testing"
import { AddressRefused } from "../../../src/Schemas/Outbound.ts"
import { Signals } from "../../../src/Services/Signals.ts"
import { Telemetry } from "../../../src/Services/Telemetry.ts"
import { makeLog } from "../../support/Log.ts"
import { makeReceivers, type Sent, soon } from "../../support/Receivers.ts"
import { layerAtRest } from "../../support/Service.ts"
import { makeTraces } from "../../support/Traces.ts"

const never = ({ signal }: Sent) =>
  new Promise<Response>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))

const failing = (cause: object) => async () => {
  throw new TypeError("fetch failed", { cause })
}

/** Long ago enough for anybody to have looked. */
const settledDown = TestClock.adjust("1 seconds")

describe("a sender", () => {
  it.effect("posts what is due, and writes that it was taken", () =>
    Effect.gen(function* () {
      const { rows, sent, start, tell, webhook } = yield* makeReceivers
      const to = yield* webhook()
      yield* TestClock.setTime(1_700_000_000_900)
      const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`
      yield* tell(to, { type: "run.completed", facts: { output: "Zoë" }, traceparent })
      const { stop } = yield* start
      yield* soon(() => rows[0]?.status === "delivered", "delivered")
      const [one] = sent
      assert.strictEqual(one?.url, to.url)
      assert.strictEqual(one?.redirect, "manual")
      assert.deepStrictEqual(JSON.parse(one?.body ?? ""), {
        type: "run.completed",
        timestamp: "1970-01-01T00:00:01.234Z",
        data: { output: "Zoë" }
      })
      const { "webhook-signature": signature, ...headers } = one?.headers ?? {}
      assert.match(signature ?? "", /^v1,[\w+/]{43}=$/)
      assert.deepStrictEqual(headers, {
        "content-type": "application/json",
        "user-agent": "agentd/0.1.0",
        "webhook-id": rows[0]?.event.id ?? "",
        "webhook-timestamp": "1700000000",
        traceparent
      })
      const result = rows[0]?.results[0]
      assert.deepInclude(result, { statusCode: 204, error: null })
      assert.strictEqual(result?.at.getTime(), 1_700_000_000_900)
      yield* stop
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("tells nobody of a trace where the operator says so", () =>
    Effect.gen(function* () {
      const { sent, start, tell, webhook } = yield* makeReceivers
      const to = yield* webhook()
      yield* tell(to, { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01` })
      const { stop } = yield* start
      yield* soon(() => sent.length > 0, "sent")
      assert.notProperty(sent[0]?.headers, "traceparent")
      yield* stop
    }).pipe(
      Effect.provideService(Telemetry, { tracing: false, captureContent: false, propagation: false }),
      Effect.provide(layerAtRest())
    )
  )

  it.effect("makes no spans of its own, where spans are made", () => {
    const { layer, made } = makeTraces()
    return Effect.gen(function* () {
      const { rows, start, tell, webhook } = yield* makeReceivers
      const to = yield* webhook()
      const before = made.length
      yield* tell(to)
      const { stop } = yield* start
      yield* soon(() => rows[0]?.status === "delivered", "delivered")
      yield* stop
      assert.deepStrictEqual(
        made.slice(before).map(({ name }) => name),
        []
      )
    }).pipe(Effect.provide(layerAtRest()), Effect.provide(layer))
  })

  it.effect("does so as soon as it is told that there is something, and soon without", () =>
    Effect.gen(function* () {
      const { rows, start, state, tell, webhook } = yield* makeReceivers
      const to = yield* webhook()
      const { stop } = yield* start
      yield* settledDown
      const looks = state.claims.length
      yield* tell(to)
      yield* (yield* Signals).publish({ type: "webhooks" })
      yield* soon(() => rows[0]?.status === "delivered", "delivered after a signal")
      assert.isAtMost(state.claims.length - looks, 2)
      yield* tell(to)
      // A webhook is used now: it looks every second.
      yield* TestClock.adjust("1 seconds")
      yield* soon(() => rows[1]?.status === "delivered", "delivered without")
      yield* stop
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect.each([
    { answer: () => new Response("ok", { status: 200 }), status: "delivered", error: null },
    { answer: () => new Response(null, { status: 299 }), status: "delivered", error: null },
    {
      answer: () => new Response(null, { status: 307, headers: { location: "https://other.example" } }),
      status: "pending",
      error: "the receiver answered 307: redirects are not followed"
    },
    {
      answer: () => new Response("a secret", { status: 500 }),
      status: "pending",
      error: "the receiver answered 500"
    },
    {
      answer: () => new Response(null, { status: 410 }),
      status: "failed",
      error: "the receiver answered 410: it wants no more, and the webhook is switched off"
    },
    {
      answer: failing(
        Object.assign(new Error("connect ECONNREFUSED 10.0.0.1:443"), { code: "ECONNREFUSED" })
      ),
      status: "pending",
      error: "the receiver refuses connections"
    },
    {
      answer: failing(
        new AddressRefused({ error: "receiver.example\u001b[1m is no known host", isAway: true })
      ),
      status: "pending",
      error: "receiver.example [1m is no known host"
    },
    {
      answer: failing(
        Object.assign(new Error("/path/of/a/secret"), { code: "ERR_SSL_WRONG_VERSION_NUMBER" })
      ),
      status: "pending",
      error: "the request to the receiver failed (ERR_SSL_WRONG_VERSION_NUMBER)"
    }
  ])("tells what came of it: $error", ({ answer, error, status }) =>
    Effect.gen(function* () {
      const { receiver, rows, start, tell, webhook } = yield* makeReceivers
      receiver.answer = answer
      yield* tell(yield* webhook())
      const { stop } = yield* start
      yield* soon(() => rows[0]?.results.length === 1, "attempted")
      assert.strictEqual(rows[0]?.status, status)
      assert.strictEqual(rows[0]?.results[0]?.error, error)
      yield* stop
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("gives a receiver 15 s, and its answer's body no more than a second", () =>
    Effect.gen(function* () {
      const { receiver, rows, sent, start, tell, webhook } = yield* makeReceivers
      receiver.answer = never
      yield* tell(yield* webhook())
      const { stop } = yield* start
      yield* soon(() => sent.length === 1, "sent")
      yield* TestClock.adjust("14 seconds")
      assert.isFalse(sent[0]?.signal.aborted)
      yield* TestClock.adjust("1 seconds")
      assert.isTrue(sent[0]?.signal.aborted)
      yield* soon(() => rows[0]?.results.length === 1, "over")
      assert.strictEqual(rows[0]?.results[0]?.error, "the receiver did not answer within 15 s")
      assert.strictEqual(rows[0]?.results[0]?.statusCode, null)

      let cancelled = 0
      let pulled = 0
      const body = (chunk: Uint8Array | undefined) =>
        new ReadableStream({
          pull: (controller) => {
            pulled++
            if (chunk !== undefined) controller.enqueue(chunk)
            return chunk === undefined ? new Promise(() => undefined) : undefined
          },
          cancel: () => void cancelled++
        })
      receiver.answer = () => new Response(body(undefined))
      yield* tell(yield* webhook())
      yield* TestClock.adjust("1 seconds")
      yield* soon(() => rows[1]?.status === "delivered", "delivered without its body")
      assert.strictEqual(cancelled, 1)
      receiver.answer = () => new Response(body(new Uint8Array(1_000)))
      pulled = 0
      yield* tell(yield* webhook())
      yield* TestClock.adjust("1 seconds")
      yield* soon(() => rows[2]?.status === "delivered", "delivered without all of its body")
      assert.strictEqual(cancelled, 2)
      assert.isAtMost(pulled, 8)
      yield* stop
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("attempts what was not taken by the schedule, ten times, with the same id and bytes", () =>
    Effect.gen(function* () {
      const { receiver, rows, sent, start, tell, webhook } = yield* makeReceivers
      receiver.answer = () => new Response(null, { status: 503 })
      yield* tell(yield* webhook(), { type: "run.completed", facts: { b: 1, a: [{ z: null }] } })
      const { stop } = yield* start
      const hour = 3_600_000
      const pauses = [5_000, 300_000, 1_800_000, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hour)]
      for (const [index, pause] of pauses.entries()) {
        yield* soon(() => rows[0]?.results.length === index + 1, `attempt ${index + 1}`)
        // It would look each second of three days.
        const due = rows[0]?.dueAt ?? 0
        const since = (rows[0]?.results.at(-1)?.at.getTime() ?? 0) / 1
        assert.isAtLeast(due - since, 0.9 * pause)
        assert.isAtMost(due - since, 1.1 * pause + 1_000)
        if (rows[0] !== undefined) rows[0].dueAt = 0
        yield* TestClock.adjust("1 seconds")
      }
      yield* soon(() => rows[0]?.status === "failed", "failed")
      assert.lengthOf(sent, 10)
      assert.lengthOf(new Set(sent.map(({ body }) => body)), 1)
      assert.lengthOf(new Set(sent.map(({ headers }) => headers["webhook-id"])), 1)
      assert.isAbove(new Set(sent.map(({ headers }) => headers["webhook-timestamp"])).size, 5)
      yield* stop
    }).pipe(Effect.provide(layerAtRest()))
  )

  it.effect("tries again where the secret can't be opened, says so, and sends nothing unsigned", () => {
    const log = makeLog("Warn")
    return Effect.gen(function* () {
      const { rows, sent, start, tell, webhook } = yield* makeReceivers
      yield* tell(yield* webhook({ sealedSecret: "v1.gone.x.y" }))
      const { stop } = yield* start
      yield* soon(() => rows[0]?.results.length === 1, "attempted")
      assert.lengthOf(sent, 0)
      assert.strictEqual(rows[0]?.status, "pending")
      assert.match(rows[0]?.results[0]?.error ?? "", /^the secret of the webhook /)
      assert.deepInclude(log.entries[0], { message: "a webhook can't be signed", webhookId: "whk_1" })
      yield* stop
    }).pipe(Effect.provide(layerAtRest()), Effect.provide(log.layer))
  })
})
