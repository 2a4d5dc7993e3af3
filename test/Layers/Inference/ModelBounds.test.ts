import type * as Http from "node:http"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import { failureOf } from "../../../src/Layers/Inference/Failures.ts"
import { toCallOptions } from "../../../src/Layers/Inference/Prompt.ts"
import { wireNames } from "../../../src/Schemas/WireName.ts"
import {
  type Answer,
  ask,
  begins,
  makeHaste,
  makeModel,
  makeServer,
  protocols,
  says
} from "../../support/Models.ts"
import { eventually } from "../../support/Until.ts"

const context = { hasBegun: false, now: 0, scrub: (text: string) => text }
const refusal = (statusCode: number, responseBody: string) =>
  failureOf(Object.assign(new Error("m"), { statusCode, responseBody }), context)

/** Sends the chunk until the reader is gone. */
const endless =
  (status: number, chunk: string): Answer =>
  (response) => {
    response.writeHead(status, { "content-type": status < 300 ? "text/event-stream" : "application/json" })
    const send = () => {
      while (!response.destroyed && response.write(chunk)) {
        // Until the buffer is full.
      }
      if (!response.destroyed) response.once("drain", send)
    }
    send()
  }

describe.each(protocols)("what %s sends is bounded", (protocol) => {
  it.live("an answer without an end", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(endless(200, "x".repeat(1_000_000)))
      const told = yield* ask(yield* makeModel(protocol, url, 60_000))
      assert.strictEqual(told.reason, "unknown", told.shown)
      assert.include(told.shown, "32 MiB")
      assert.strictEqual(received.length, 1)
    })
  )

  it.live("a refusal without an end", () =>
    Effect.gen(function* () {
      const { url } = yield* makeServer(endless(400, "x".repeat(100_000)))
      const told = yield* ask(yield* makeModel(protocol, url, 60_000))
      assert.strictEqual(told.reason, "bad_request", told.shown)
    })
  )

  it.effect("a provider that keeps the line open is not given up", () =>
    Effect.gen(function* () {
      const idleMillis = 60_000
      const open = Promise.withResolvers<Http.ServerResponse>()
      let pieces = 0
      const ping =
        protocol === "anthropic" ? 'event: ping\ndata: {"type":"ping"}\n\n' : ": still thinking\n\n"
      const { url } = yield* makeServer(begins(ping, open.resolve))
      const model = yield* makeModel(protocol, url, idleMillis, () => pieces++)
      const asking = yield* Effect.forkChild(ask(model))
      const response = yield* Effect.promise(() => open.promise)
      for (let sent = 1; sent <= 12; sent++) {
        yield* eventually(
          Effect.sync(() => pieces === sent),
          "the line was heard"
        )
        yield* TestClock.adjust(idleMillis - 1)
        response.write(ping)
      }
      const rest = Object.assign(Object.create(response), {
        writeHead: () => response,
        write: response.write.bind(response),
        end: response.end.bind(response)
      })
      says(protocol, "ok")(rest, undefined as never)
      const told = yield* Fiber.join(asking)
      assert.isNull(told.error, told.shown)
      assert.deepStrictEqual(told.text, ["ok"])
    })
  )
})

describe("what a provider says is bounded", () => {
  it.live("counts of tokens", () =>
    Effect.gen(function* () {
      const chunk = (extra: object) =>
        `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "m", ...extra })}\n\n`
      const { url } = yield* makeServer(
        begins(
          chunk({ choices: [{ index: 0, delta: { content: "ok" }, finish_reason: "stop" }] }) +
            chunk({ choices: [], usage: { prompt_tokens: 1e10, completion_tokens: 5, total_tokens: 1e10 } }) +
            "data: [DONE]\n\n",
          (response) => void response.end()
        )
      )
      const told = yield* ask(yield* makeModel("openai-compatible", url))
      assert.deepStrictEqual(told.usage, [{ inputTokens: 2_147_483_647, outputTokens: 5 }], told.shown)
    })
  )

  it("sentences that are no JSON, or that can't be stored", () => {
    const broken = refusal(400, '{"error":{"message":"line one\nline two"}}')
    assert.strictEqual(broken.error.reason, "bad_request")
    const nul = refusal(400, '{"error":{"message":"a\\u0000b"}}')
    assert.include(nul.error.error, "a\uFFFDb")
  })

  it("tells a limit for the moment from a quota that is used up", () => {
    const gemini = (quotaId: string) =>
      refusal(
        429,
        JSON.stringify({
          error: {
            code: 429,
            message: "You exceeded your current quota, please check your plan and billing details.",
            details: [{ violations: [{ quotaId }] }, { retryDelay: "26s" }]
          }
        })
      )
    const minute = gemini("GenerateRequestsPerMinutePerProjectPerModel-FreeTier")
    assert.deepInclude(minute, { isRetryable: true, retryAfterMillis: 26_000 })
    assert.strictEqual(minute.error.reason, "rate_limited")
    assert.strictEqual(gemini("GenerateRequestsPerDayPerProjectPerModel").error.reason, "quota_exceeded")
    const openai = refusal(
      429,
      '{"error":{"message":"Rate limit reached. See account/billing","code":"rate_limit_exceeded"}}'
    )
    assert.strictEqual(openai.error.reason, "rate_limited")
    assert.strictEqual(
      refusal(429, '{"error":{"message":"m","code":"insufficient_quota"}}').error.reason,
      "quota_exceeded"
    )
    assert.strictEqual(
      refusal(400, '{"error":{"message":"Your credit balance is too low to access the API."}}').error.reason,
      "quota_exceeded"
    )
    assert.strictEqual(refusal(400, '{"error":{"message":"tool billing__x"}}').error.reason, "bad_request")
    assert.strictEqual(refusal(404, '{"error":{"message":"no model billing-7b"}}').error.reason, "not_found")
  })

  it.live("waits as long as Gemini says in the body", () =>
    Effect.gen(function* () {
      const busy: Answer = (response) =>
        void response.writeHead(429, { "content-type": "application/json" }).end(
          JSON.stringify({
            error: {
              code: 429,
              message: "slow",
              status: "RESOURCE_EXHAUSTED",
              details: [{ retryDelay: "7s" }]
            }
          })
        )
      const { url } = yield* makeServer(busy, says("google", "ok"))
      const { hasten, pauses } = yield* makeHaste
      const told = yield* hasten(ask(yield* makeModel("google", url, 60_000)))
      assert.isNull(told.error, told.shown)
      assert.include(pauses, 7000)
    })
  )

  it("leaves out texts of white space, which providers refuse", () => {
    const { prompt } = toCallOptions(
      {
        system: null,
        tools: [],
        messages: [
          { role: "assistant", content: "\n\n", toolCalls: [{ id: "c", name: "t", arguments: {} }] },
          { role: "assistant", content: " ", toolCalls: [] }
        ]
      },
      {
        dialect: "anthropic",
        thinker: { provider: "anthropic", model: "m", isLasting: false },
        names: wireNames("anthropic", [], []),
        maxOutputTokens: null,
        needsThoughts: false,
        tellsFormat: true
      }
    )
    assert.deepStrictEqual(
      prompt.map(({ content }) => (typeof content === "string" ? content : content.map(({ type }) => type))),
      [["tool-call"]]
    )
  })
})
