import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import {
  type Answer,
  ask,
  makeHaste,
  makeModel,
  makeServer,
  type Protocol,
  protocols,
  refuses,
  says,
  secretKey
} from "../../support/Models.ts"
import { eventually } from "../../support/Until.ts"

/** What a provider says of a request that it refuses, and what the caller is told. */
const refusals = [
  { reason: "authentication", status: 401, message: `Incorrect API key provided: ${secretKey}.` },
  { reason: "permission", status: 403, message: "Your project does not have access to this model" },
  { reason: "not_found", status: 404, message: "The model does not exist" },
  { reason: "bad_request", status: 400, message: "temperature: must be at most 2" },
  { reason: "bad_request", status: 422, message: "temperature: must be at most 2" },
  { reason: "quota_exceeded", status: 402, message: "Payment required" },
  {
    reason: "quota_exceeded",
    status: 429,
    message: "You exceeded your current quota, please check your plan and billing details.",
    type: "insufficient_quota",
    code: "insufficient_quota"
  }
]

const tooLong: Readonly<Record<Protocol, string>> = {
  openai: "This model's maximum context length is 128000 tokens. However, your messages resulted in 200000",
  "openai-compatible": "This model's maximum context length is 4096 tokens, you requested 5000 tokens",
  anthropic: "prompt is too long: 210000 tokens > 200000 maximum",
  google: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
}

/** The pauses of a caller who is told nothing of how long to wait: half a second, one, two, about. */
const isBackoff = (pauses: ReadonlyArray<number>) => {
  pauses.forEach((pause, index) => {
    assert.isAtLeast(pause, 500 * 2 ** index * 0.75)
    assert.isAtMost(pause, 500 * 2 ** index * 1.25)
  })
}

/** Asks a provider that gives these answers, in a hurry: pauses between tries take no time. */
const askServer = Effect.fnUntraced(function* (protocol: Protocol, ...answers: ReadonlyArray<Answer>) {
  const { received, url } = yield* makeServer(...answers)
  const { hasten, pauses } = yield* makeHaste
  const told = yield* hasten(ask(yield* makeModel(protocol, url, 60_000)))
  return { ...told, received, pauses }
})

describe.each(protocols)("the model of %s", (protocol) => {
  it.live.each(refusals)("tells $reason of status $status, asks once and keeps the key", (refusal) =>
    Effect.gen(function* () {
      const told = yield* askServer(protocol, refuses(protocol, refusal.status, refusal))
      assert.strictEqual(told.reason, refusal.reason, told.shown)
      assert.deepStrictEqual(told.events, [])
      assert.strictEqual(told.received.length, 1)
      assert.include(JSON.stringify(told.received[0]?.headers), secretKey)
      assert.notInclude(told.shown, secretKey)
      assert.notInclude(told.shown, "hello")
      if (refusal.status !== 401) assert.include(told.error?.error, refusal.message)
    })
  )

  it.live.each([400, 403, 500])("never repeats a key that an answer of status %i echoes", (status) =>
    Effect.gen(function* () {
      const echo = refuses(protocol, status, { message: `bad header: Bearer ${secretKey}` })
      const told = yield* askServer(protocol, echo)
      assert.include(told.error?.error, "bad header")
      assert.notInclude(told.shown, secretKey)
    })
  )

  it.live("never repeats a key that an answer echoes, encoded or cut between its pieces", () =>
    Effect.gen(function* () {
      const { url } = yield* makeServer(
        says(
          protocol,
          `is ${secretKey.slice(0, 9)}`,
          `${secretKey.slice(9)} or `,
          "s",
          `k; ${btoa(secretKey)}`,
          "!"
        )
      )
      const told = yield* ask(yield* makeModel(protocol, url))
      assert.match(told.text.join(""), /^is \[hidden\] or sk; \[hidden\].{0,3}!$/u)
      assert.strictEqual(told.reason, null)
      assert.lengthOf(told.usage, 1)
    })
  )

  it.live("never repeats a key across the end of a cut sentence", () =>
    Effect.gen(function* () {
      for (let length = 285; length < 301; length++) {
        const echo = refuses(protocol, 400, { message: `${"x".repeat(length)}${secretKey}` })
        const told = yield* askServer(protocol, echo)
        assert.notInclude(told.shown, secretKey.slice(0, 8))
      }
    })
  )

  it.live("tells that the conversation is too long", () =>
    Effect.gen(function* () {
      const code = protocol.startsWith("openai") ? { code: "context_length_exceeded" } : {}
      const told = yield* askServer(protocol, refuses(protocol, 400, { message: tooLong[protocol], ...code }))
      assert.strictEqual(told.reason, "context_length")
      assert.strictEqual(told.received.length, 1)
    })
  )

  it.live("waits as long as it is asked to, and then answers", () =>
    Effect.gen(function* () {
      const soon = new Date(Date.now() + 29_000).toUTCString()
      const told = yield* askServer(
        protocol,
        refuses(protocol, 429, { message: "slow down" }, { "retry-after": "1" }),
        refuses(protocol, 503, { message: "busy" }, { "retry-after": soon }),
        refuses(protocol, 429, { message: "slow down" }, { "retry-after-ms": "1500" }),
        says(protocol, "ok")
      )
      assert.isNull(told.error)
      assert.strictEqual(told.text.join(""), "ok")
      assert.strictEqual(told.received.length, 4)
      const [first, second = 0, third] = told.pauses
      assert.deepStrictEqual([first, third], [1000, 1500])
      assert.isAtMost(second, 29_000)
      assert.isAbove(second, 1_500)
    })
  )

  it.effect("really waits", () =>
    Effect.gen(function* () {
      const slower = refuses(protocol, 429, { message: "slow down" }, { "retry-after": "1" })
      const { received, url } = yield* makeServer(slower, says(protocol, "ok"))
      const asking = yield* Effect.forkChild(ask(yield* makeModel(protocol, url)))
      let waited = 0
      yield* eventually(
        Effect.gen(function* () {
          if (received.length === 2) return true
          yield* TestClock.adjust(50)
          waited += 50
          return false
        }),
        "it asks again"
      )
      assert.isAtLeast(waited, 1_000)
      assert.isNull((yield* Fiber.join(asking)).error)
    })
  )

  it.live("does not wait for an hour", () =>
    Effect.gen(function* () {
      const later = refuses(protocol, 429, { message: "slow down" }, { "retry-after": "3600" })
      const told = yield* askServer(protocol, later)
      assert.strictEqual(told.reason, "rate_limited")
      assert.strictEqual(told.received.length, 1)
      assert.deepStrictEqual(told.pauses, [])
    })
  )

  it.live("asks again after two failures of the provider", () =>
    Effect.gen(function* () {
      const broken = refuses(protocol, 500, { message: "internal" })
      const told = yield* askServer(protocol, broken, broken, says(protocol, "ok"))
      assert.isNull(told.error)
      assert.strictEqual(told.text.join(""), "ok")
      assert.strictEqual(told.received.length, 3)
      isBackoff(told.pauses)
    })
  )

  it.live.each([500, 502, 503, 529])("gives up when the provider fails for ever with %i", (status) =>
    Effect.gen(function* () {
      const told = yield* askServer(
        protocol,
        refuses(protocol, status, { message: "Overloaded", type: "overloaded_error" })
      )
      assert.strictEqual(told.reason, "overloaded")
      assert.strictEqual(told.received.length, 4)
      assert.strictEqual(told.pauses.length, 3)
      isBackoff(told.pauses)
    })
  )

  it.live("asks again when a connection is closed without an answer", () =>
    Effect.gen(function* () {
      const told = yield* askServer(protocol, (response) => void response.destroy(), says(protocol, "ok"))
      assert.isNull(told.error)
      assert.strictEqual(told.text.join(""), "ok")
      assert.strictEqual(told.received.length, 2)
    })
  )

  it.live("tells that a provider can't be reached, after some tries", () =>
    Effect.gen(function* () {
      const { url } = yield* Effect.scoped(makeServer())
      const { hasten, pauses } = yield* makeHaste
      const told = yield* hasten(ask(yield* makeModel(protocol, url, 60_000)))
      assert.strictEqual(told.reason, "unreachable", told.shown)
      assert.strictEqual(pauses.length, 3)
      assert.notInclude(told.shown, url)
    })
  )

  it.live("asks again for what fails at once within the stream", () =>
    Effect.gen(function* () {
      const { errors } = streams[protocol]
      for (const [reason, bytes] of errors) {
        const failing: Answer = (response) => {
          response.writeHead(200, { "content-type": "text/event-stream" }).end(bytes)
        }
        const told = yield* askServer(protocol, failing)
        assert.strictEqual(told.reason, reason, told.shown)
        assert.strictEqual(told.received.length, 4)
        assert.isNull((yield* askServer(protocol, failing, says(protocol, "ok"))).error)
      }
    })
  )
})

describe("the model of google", () => {
  it.live("tells authentication of a key that is not valid, which comes with status 400", () =>
    Effect.gen(function* () {
      const message = "API key not valid. Please pass a valid API key."
      const told = yield* askServer("google", refuses("google", 400, { message, type: "INVALID_ARGUMENT" }))
      assert.strictEqual(told.reason, "authentication")
    })
  )
})

const openAiErrors = {
  errors: [
    [
      "overloaded",
      'data: {"error":{"message":"The server had an error","type":"server_error","code":null}}\n\n'
    ],
    [
      "rate_limited",
      'data: {"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}\n\n'
    ]
  ]
} as const

const streams: Readonly<Record<Protocol, { readonly errors: ReadonlyArray<readonly [string, string]> }>> = {
  openai: openAiErrors,
  "openai-compatible": openAiErrors,
  anthropic: {
    errors: [
      [
        "overloaded",
        'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
      ]
    ]
  },
  google: {
    errors: [
      [
        "overloaded",
        'data: {"error":{"code":503,"message":"The model is overloaded","status":"UNAVAILABLE"}}\n\n'
      ]
    ]
  }
}
