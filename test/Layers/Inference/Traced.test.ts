import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as GenAi from "../../../src/Schemas/GenAi.ts"
import { spanned, within } from "../../../src/Services/Telemetry.ts"
import {
  type Answer,
  ask,
  makeModel,
  makeServer,
  makeTapped,
  protocols,
  requestOf,
  secretKey
} from "../../support/Models.ts"
import { attributesOf, makeTraces } from "../../support/Traces.ts"

const usage = { prompt_tokens: 11, completion_tokens: 7 }
const kept = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

describe.each(protocols)("a question to a model of %s", (protocol) => {
  it.live("says in which span it is asked, which tells where that was and what came back", () => {
    const traces = makeTraces()
    return Effect.gen(function* () {
      const { mock, received, url } = yield* makeTapped
      mock.on({}, { content: "xyzzy", usage }, { chunkSize: 4 })
      const model = yield* makeModel(protocol, url, undefined, undefined, { maxOutputTokens: 99 })
      const answeredBy = { provider: protocol, model: `${protocol}-model`, providerKeyId: null }
      const { error } = yield* ask(model, requestOf("xyzzy")).pipe(
        spanned(() => GenAi.chat(answeredBy)),
        within(kept)
      )
      assert.isNull(error)
      const [span, ...others] = traces.spans()
      assert.deepStrictEqual(others, [])
      assert.strictEqual(received[0]?.headers.traceparent, `${kept.slice(0, 36)}${span?.spanId}-01`)
      const told = attributesOf(span)
      assert.deepInclude(told, {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": GenAi.providerName(protocol),
        "gen_ai.request.model": `${protocol}-model`,
        "gen_ai.request.max_tokens": 99,
        "server.address": "127.0.0.1",
        "server.port": Number(new URL(url).port)
      })
      assert.match(String(told["gen_ai.response.finish_reasons"]), /^(stop|STOP|end_turn)$/)
      if (protocol !== "google") assert.isString(told["gen_ai.response.id"])
      assert.notInclude(traces.shown(), "xyzzy")
      assert.notInclude(traces.shown(), secretKey)
    }).pipe(Effect.scoped, Effect.provide(traces.layer))
  })

  it.live(
    "passes on what its run is part of where no spans are made, and nothing where nothing is passed on",
    () =>
      Effect.gen(function* () {
        for (const propagation of [true, false]) {
          const traces = makeTraces({ tracing: false, propagation })
          const { mock, received, url } = yield* makeTapped
          mock.on({}, { content: "ok", usage })
          yield* ask(yield* makeModel(protocol, url)).pipe(within(kept), Effect.provide(traces.layer))
          assert.strictEqual(received[0]?.headers.traceparent, propagation ? kept : undefined)
          assert.deepStrictEqual(traces.made, [])
        }
      })
  )

  it.live("tells of a refusal no word that the provider says", () => {
    const traces = makeTraces()
    return Effect.gen(function* () {
      const refuses: Answer = (response) =>
        void response
          .writeHead(400, { "content-type": "application/json" })
          .end('{"error":{"message":"xyzzy"}}')
      const { url } = yield* makeServer(refuses)
      const answeredBy = { provider: protocol, model: "m", providerKeyId: null }
      const model = yield* makeModel(protocol, url)
      const { error } = yield* ask(model).pipe(
        spanned(() => GenAi.chat(answeredBy)),
        within(kept)
      )
      assert.isNotNull(error)
      assert.strictEqual(traces.spans().length, 1)
      assert.notInclude(traces.shown(), "xyzzy")
    }).pipe(Effect.scoped, Effect.provide(traces.layer))
  })
})
