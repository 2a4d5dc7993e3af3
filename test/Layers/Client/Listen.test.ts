import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { TestClock } from "effect/testing"
import { Webhook } from "standardwebhooks"
import { type Judged, lineOf, listen, makeJudge } from "../../../src/Layers/Client/Listen.ts"
import * as Outbound from "../../../src/Layers/Outbound.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import * as Post from "../../../src/Services/WebhookSender/Post.ts"
import { makeReceivers, secret } from "../../support/Receivers.ts"
import { layerAtRest } from "../../support/Service.ts"

const at = 1_700_000_000
const text = '{"type":"run.completed","timestamp":"2023-11-14T22:13:20.000Z","data":{"id":"run_1"}}'
const utf8 = new TextEncoder()

const headersOf = (body: string, seconds = at, with_ = secret) => ({
  "webhook-id": "evt_1",
  "webhook-timestamp": String(seconds),
  "webhook-signature": new Webhook(with_).sign("evt_1", new Date(seconds * 1_000), body)
})

const judge = Effect.fnUntraced(function* (given: {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string | undefined
}) {
  yield* TestClock.setTime(at * 1_000)
  const judged = yield* makeJudge(Redacted.make(secret))
  const body = "body" in given ? given.body : text
  return yield* judged({
    method: given.method ?? "POST",
    headers: given.headers ?? headersOf(body ?? ""),
    body: body === undefined ? undefined : utf8.encode(body)
  })
})

const other = `whsec_${Buffer.alloc(32, 9).toString("base64")}`

describe("who listens for webhooks", () => {
  it.effect("takes what is signed, and shows it", () =>
    Effect.gen(function* () {
      const judged = yield* judge({})
      assert.strictEqual(judged.status, 204)
      assert.strictEqual(lineOf(judged, false), '2023-11-14T22:13:20.000Z run.completed evt_1 {"id":"run_1"}')
      assert.deepStrictEqual(JSON.parse(lineOf(judged, true)), {
        status: 204,
        id: "evt_1",
        type: "run.completed",
        timestamp: "2023-11-14T22:13:20.000Z",
        problem: null,
        data: { id: "run_1" },
        isVerified: true
      })
    })
  )

  const two = (first: string, second: string) => ({
    ...headersOf(text),
    "webhook-signature": `${headersOf(text, at, first)["webhook-signature"]} ${headersOf(text, at, second)["webhook-signature"]}`
  })

  it.effect.each([
    { what: "one of two signatures", given: { headers: two(other, secret) }, status: 204 },
    { what: "five minutes ago", given: { headers: headersOf(text, at - 300) }, status: 204 },
    { what: "longer ago", given: { headers: headersOf(text, at - 301) }, status: 401 },
    { what: "in the future", given: { headers: headersOf(text, at + 301) }, status: 401 },
    { what: "another secret", given: { headers: headersOf(text, at, other) }, status: 401 },
    { what: "another body", given: { headers: headersOf("{}") }, status: 401 },
    { what: "no signature", given: { headers: {} }, status: 401 },
    {
      what: "an asymmetric signature",
      given: { headers: { ...headersOf(text), "webhook-signature": "v1a,AAAA" } },
      status: 401
    },
    {
      what: "a moment that is none",
      given: { headers: { ...headersOf(text), "webhook-timestamp": "1e9" } },
      status: 401
    },
    { what: "no JSON", given: { body: "hello" }, status: 400 },
    { what: "no object", given: { body: "[]" }, status: 400 },
    { what: "too long a body", given: { body: undefined }, status: 413 },
    { what: "a GET", given: { method: "GET" }, status: 405 }
  ])("answers $status to $what", ({ given, status }) =>
    Effect.gen(function* () {
      const judged: Judged = yield* judge(given)
      assert.strictEqual(judged.status, status, judged.problem ?? "")
      assert.strictEqual(judged.problem === null, status === 204)
      assert.strictEqual(JSON.parse(lineOf(judged, true)).isVerified, status === 204)
    })
  )

  it.effect("says of an id and of data nothing that is an order to a terminal", () =>
    Effect.gen(function* () {
      const body = JSON.stringify({ type: "t", timestamp: "\u001b[2J", data: { x: "\u0007\u202e" } })
      const line = lineOf(yield* judge({ body }), false)
      assert.match(line, /^[\x20-\x7e]+$/)
    })
  )

  it.effect("wants a secret that is one", () =>
    Effect.gen(function* () {
      for (const wrong of ["", "whsec_", "whsec_???", secret.slice(6)]) {
        const failure = yield* Effect.flip(makeJudge(Redacted.make(wrong)))
        assert.include(failure.error, "must be that of a webhook")
      }
    })
  )

  it.live("is reached by the sender", () =>
    Effect.gen(function* () {
      const address = yield* Deferred.make<string>()
      yield* Effect.forkChild(
        listen({
          port: 0,
          secret: (found) => Effect.as(Deferred.succeed(address, found), Redacted.make(secret)),
          isJson: true
        })
      )
      const url = yield* Deferred.await(address)
      const { tell, webhook } = yield* makeReceivers
      const to = yield* webhook({ url })
      const post = yield* Post.make
      const { event, id } = yield* tell(to)
      const send = post({ id, attempt: 1, webhook: to, event }, () => undefined)
      assert.deepInclude(yield* send, { statusCode: 204, error: null })
      assert.deepInclude(yield* send, { statusCode: 204, error: null })
    }).pipe(
      Effect.provide(
        Layer.provideMerge(
          Layer.fresh(Outbound.layer).pipe(
            Layer.provide(Layer.succeed(Settings, { ...Settings.defaults, allowPrivateAddresses: true }))
          ),
          layerAtRest()
        )
      )
    )
  )
})
