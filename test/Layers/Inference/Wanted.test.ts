import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { isStrict } from "../../../src/Layers/Inference/Wanted.ts"
import type { InferenceRequest } from "../../../src/Schemas/Inference.ts"
import {
  ask,
  makeModel,
  makeOpenAi,
  makeServer,
  type Protocol,
  protocols,
  refuses,
  requestOf,
  says,
  weather
} from "../../support/Models.ts"
import { openAi } from "../../support/Thinking.ts"

// biome-ignore lint/suspicious/noExplicitAny: four wire formats, none of them typed here
type Body = any
type More = Partial<Pick<InferenceRequest, "format" | "sampling" | "toolChoice" | "tools">>

const asking = (more: More): InferenceRequest => ({ ...requestOf("hello", { tools: [weather] }), ...more })

/** What each request for an answer says, the last of which is answered well. */
const sent = Effect.fnUntraced(function* (
  protocol: Protocol,
  more: More,
  ...refusals: ReadonlyArray<string>
) {
  const { received, url } = yield* makeServer(
    ...refusals.map((message) => refuses(protocol, 400, { message })),
    says(protocol, "{}")
  )
  // A model of Anthropic that knows formats.
  const model = protocol === "anthropic" ? { model: "claude-sonnet-4-5" } : {}
  const told = yield* ask(yield* makeModel(protocol, url, undefined, undefined, model), asking(more))
  return { told, bodies: received.map(({ body }): Body => body) }
})

const sampling = {
  temperature: 0.5,
  topP: 0.75,
  maxOutputTokens: 7,
  stop: ["END"],
  seed: 3,
  presencePenalty: 0.25,
  frequencyPenalty: 0.125
}

const closed = {
  type: "object" as const,
  properties: { n: { type: "integer" } },
  required: ["n"],
  additionalProperties: false
}
const format = { name: "a number", description: "One.", schema: closed }
const isInWords = (body: Body) => JSON.stringify(body).includes("answer with JSON and nothing else")

describe("Sampling", () => {
  const names: Readonly<Record<Protocol, (body: Body) => object>> = {
    openai: ({ frequency_penalty, max_tokens, presence_penalty, seed, stop, temperature, top_p }) => ({
      ...{ temperature, topP: top_p, maxOutputTokens: max_tokens, stop, seed },
      ...{ presencePenalty: presence_penalty, frequencyPenalty: frequency_penalty }
    }),
    "openai-compatible": (body) => names.openai(body),
    anthropic: ({ max_tokens, stop_sequences, temperature }) => ({
      ...{ maxOutputTokens: max_tokens, stop: stop_sequences, temperature }
    }),
    google: ({ generationConfig: { stopSequences, ...config } }) => ({ ...config, stop: stopSequences })
  }
  it.live.each(protocols)("is told to %s, as far as it knows it", (protocol) =>
    Effect.gen(function* () {
      const { bodies, told } = yield* sent(protocol, { sampling })
      assert.isNull(told.error, told.shown)
      const said = names[protocol](bodies[0])
      const { maxOutputTokens, stop, temperature } = sampling
      assert.deepInclude(said, protocol === "anthropic" ? { maxOutputTokens, stop, temperature } : sampling)
    })
  )

  it.live("makes the limit of the key no higher", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(says("openai", "ok"))
      for (const maxOutputTokens of [5, 9]) {
        const model = yield* makeModel("openai", url, undefined, undefined, { maxOutputTokens })
        yield* ask(model, asking({ sampling: { maxOutputTokens: 7 } }))
      }
      assert.deepStrictEqual(
        received.map(({ body }) => body.max_tokens),
        [5, 7]
      )
    })
  )

  it.live("is no part of a request that says nothing of it", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(says("openai", "ok"))
      yield* ask(yield* makeModel("openai", url), asking({}))
      assert.deepStrictEqual(Object.keys(received[0]?.body).sort(), [
        "messages",
        "model",
        "stream",
        "stream_options",
        "tools"
      ])
    })
  )
})

describe("The choice of tools", () => {
  const choices: Readonly<Record<Protocol, (body: Body) => unknown>> = {
    openai: ({ tool_choice }) => tool_choice?.function?.name ?? tool_choice,
    "openai-compatible": ({ tool_choice }) => tool_choice?.function?.name ?? tool_choice,
    anthropic: ({ tool_choice }) => tool_choice?.name ?? tool_choice?.type,
    google: ({ toolConfig }) =>
      toolConfig?.functionCallingConfig.allowedFunctionNames?.[0] ?? toolConfig?.functionCallingConfig.mode
  }
  const words: Readonly<Record<Protocol, readonly [none: string, required: string]>> = {
    openai: ["none", "required"],
    "openai-compatible": ["none", "required"],
    anthropic: ["none", "any"],
    google: ["NONE", "ANY"]
  }
  it.live.each(protocols)("is told to %s", (protocol) =>
    Effect.gen(function* () {
      const chosen = (more: More) =>
        Effect.map(sent(protocol, more), ({ bodies }) => choices[protocol](bodies[0]))
      const [none, required] = words[protocol]
      assert.strictEqual(yield* chosen({ toolChoice: "none" }), none)
      assert.strictEqual(yield* chosen({ toolChoice: "required" }), required)
      assert.strictEqual(yield* chosen({ toolChoice: { name: "weather" } }), "weather")
      const spaced = { ...weather, name: "the weather" }
      const named = yield* chosen({ toolChoice: { name: "the weather" }, tools: [spaced] })
      assert.match(String(named), /^the_weather_\w+$/u)
      assert.isUndefined(yield* chosen({ toolChoice: "required", tools: [] }))
    })
  )
})

describe("A format", () => {
  const formats: Readonly<Record<Protocol, (body: Body) => unknown>> = {
    openai: ({ response_format }) => response_format?.json_schema,
    "openai-compatible": ({ response_format }) => response_format?.json_schema,
    anthropic: ({ output_config }) => output_config?.format,
    google: ({ generationConfig }) => generationConfig?.responseJsonSchema
  }
  it.live.each(protocols)("is told to %s in its own terms", (protocol) =>
    Effect.gen(function* () {
      const { bodies, told } = yield* sent(protocol, { format, tools: [] })
      assert.isNull(told.error, told.shown)
      const said = JSON.stringify(formats[protocol](bodies[0]))
      assert.include(said, '"n":{"type":"integer"}')
      const isCompatible = protocol === "openai" || protocol === "openai-compatible"
      if (isCompatible) {
        assert.deepInclude(formats[protocol](bodies[0]) as object, { name: "a_number", strict: true })
      }
      assert.strictEqual(isInWords(bodies[0]), isCompatible)
    })
  )

  it.live.each(protocols)("is told to the model where %s refuses it, at once and once", (protocol) =>
    Effect.gen(function* () {
      const { bodies, told } = yield* sent(protocol, { format, tools: [] }, "no such response_format")
      assert.isNull(told.error, told.shown)
      assert.strictEqual(bodies.length, 2)
      assert.isUndefined(formats[protocol](bodies[1]))
      assert.isTrue(isInWords(bodies[1]))
      const refused = yield* sent(protocol, { format, tools: [] }, "no", "no", "no")
      assert.strictEqual(refused.told.reason, "bad_request")
      assert.strictEqual(refused.bodies.length, 2)
    })
  )

  it.live.each(protocols)("without a schema is told to the model of %s as well", (protocol) =>
    Effect.gen(function* () {
      const { bodies } = yield* sent(protocol, { format: { name: "any", schema: null } })
      assert.isTrue(isInWords(bodies[0]))
    })
  )

  it.live("is told to OpenAI, strictly where its schema leaves nothing open", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(openAi.says("{}"))
      const model = yield* makeOpenAi(url)
      yield* ask(model, asking({ format }))
      yield* ask(model, asking({ format: { ...format, schema: { type: "object" } } }))
      const [first, second] = received.map(({ body }) => body.text.format)
      assert.deepInclude(first, { type: "json_schema", name: "a_number", strict: true, schema: closed })
      assert.deepInclude(second, { strict: false })
      assert.deepInclude(received[0]?.body, { store: false })
      assert.isFalse(isInWords(received[0]?.body))
    })
  )

  it("is strict where every object is closed and all that it has required", () => {
    const open = { ...closed, additionalProperties: true }
    const optional = { ...closed, required: [] }
    const of = (inner: Schema.JsonObject) => ({ ...closed, properties: { n: inner } })
    assert.isTrue(isStrict(closed))
    assert.isTrue(isStrict(of({ anyOf: [closed, { type: "null" }] })))
    assert.isTrue(isStrict({ ...of({ $ref: "#/$defs/x" }), $defs: { x: closed } }))
    assert.isTrue(isStrict(of({ enum: ["properties"], default: { type: "object" } })))
    for (const not of [open, optional, { type: "object" }]) {
      assert.isFalse(isStrict(not))
      assert.isFalse(isStrict(of(not)))
      assert.isFalse(isStrict(of({ type: "array", items: not })))
      assert.isFalse(isStrict({ ...of({ $ref: "#/$defs/x" }), $defs: { x: not } }))
    }
    // A property may have the name of a keyword.
    assert.isTrue(
      isStrict({ ...closed, properties: { properties: { type: "string" } }, required: ["properties"] })
    )
  })
})
