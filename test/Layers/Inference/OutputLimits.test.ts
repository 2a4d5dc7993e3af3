import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Connection } from "../../../src/Layers/Inference/Provider.ts"
import {
  ask,
  makeModel,
  makeOpenAi,
  makeServer,
  type Protocol,
  protocols,
  says
} from "../../support/Models.ts"
import { openAi } from "../../support/Thinking.ts"

type Body = Readonly<Record<string, unknown>> & {
  readonly generationConfig?: { readonly maxOutputTokens?: number }
}

const limitOf: Readonly<Record<Protocol, (body: Body) => unknown>> = {
  openai: ({ max_tokens }) => max_tokens,
  "openai-compatible": ({ max_tokens }) => max_tokens,
  anthropic: ({ max_tokens }) => max_tokens,
  google: ({ generationConfig }) => generationConfig?.maxOutputTokens
}

const sent = Effect.fnUntraced(function* (protocol: Protocol, more: Partial<Connection>) {
  const { received, url } = yield* makeServer(says(protocol, "ok"))
  const told = yield* ask(yield* makeModel(protocol, url, undefined, undefined, more))
  assert.isNull(told.error, told.shown)
  return received[0]?.body as Body
})

describe.each(protocols)("the limit of output tokens of %s", (protocol) => {
  it.live("is what the key says", () =>
    Effect.gen(function* () {
      assert.strictEqual(limitOf[protocol](yield* sent(protocol, { maxOutputTokens: 1234 })), 1234)
    })
  )

  it.live("is left to the provider where the key says nothing, unless it asks for one", () =>
    Effect.gen(function* () {
      const limit = limitOf[protocol](yield* sent(protocol, {}))
      assert.strictEqual(limit, protocol === "anthropic" ? 32_000 : undefined)
    })
  )
})

describe("the limit of output tokens", () => {
  it.live.each([
    ["claude-sonnet-4-5", 64_000],
    ["claude-opus-4-1", 32_000],
    ["claude-something-new-9", 128_000]
  ] as const)("of %s is %d", ([model, most]) =>
    Effect.gen(function* () {
      assert.strictEqual(limitOf.anthropic(yield* sent("anthropic", { model })), most)
    })
  )

  it.live.each(["gpt-5-mini", "openai/o3"])("of %s has another name, also behind a gateway", (model) =>
    Effect.gen(function* () {
      const body = yield* sent("openai", { model, maxOutputTokens: 99 })
      assert.deepInclude(body, { max_completion_tokens: 99 })
      assert.notProperty(body, "max_tokens")
    })
  )

  it.live("of OpenAI is what the key says", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(openAi.says("ok"))
      const told = yield* ask(yield* makeOpenAi(url, { maxOutputTokens: 99 }))
      assert.isNull(told.error, told.shown)
      assert.deepInclude(received[0]?.body, { max_output_tokens: 99 })
      yield* ask(yield* makeOpenAi(url))
      assert.notProperty(received[1]?.body, "max_output_tokens")
    })
  )
})
