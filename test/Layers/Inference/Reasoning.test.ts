import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { lasting } from "../../../src/Schemas/Conversation.ts"
import type { PromptMessage } from "../../../src/Schemas/Inference.ts"
import { JournalStep } from "../../../src/Schemas/Journal.ts"
import type { RunEvent } from "../../../src/Schemas/RunEvent.ts"
import { DatabaseHealth } from "../../../src/Services/DatabaseHealth.ts"
import { AgentLoop } from "../../../src/Services/Engine/AgentLoop.ts"
import { Inference } from "../../../src/Services/Inference.ts"
import { Lifecycle } from "../../../src/Services/Lifecycle.ts"
import { SchemaCheck } from "../../../src/Services/SchemaCheck.ts"
import { Settings } from "../../../src/Services/Settings.ts"
import { echo, makeInput } from "../../support/Loop.ts"
import {
  type Answer,
  makeModel,
  makeOpenAi,
  makeServer,
  protocols,
  refuses,
  says
} from "../../support/Models.ts"
import { scriptedModel } from "../../support/Service.ts"
import {
  compatible,
  compatibleCall,
  encrypted,
  openAi,
  thinks,
  thought,
  thoughtOf
} from "../../support/Thinking.ts"

const thinking = protocols.filter((protocol) => protocol !== "openai")

type Streaming = Effect.Success<ReturnType<typeof makeModel>>

interface Given {
  readonly finished?: ReadonlyMap<number, JournalStep>
  readonly before?: ReadonlyArray<PromptMessage>
}

/** The agent loop over this model, with steps that are kept as they are stored. */
const work = Effect.fnUntraced(function* (
  stream: Streaming,
  { before = [], finished = new Map() }: Given = {}
) {
  const journal = Schema.fromJsonString(JournalStep)
  const stored: Array<string> = []
  const events: Array<RunEvent> = []
  const record = (_: number, step: JournalStep) =>
    Effect.map(Schema.encodeEffect(journal)(step).pipe(Effect.orDie), (text) => {
      stored.push(text)
      return true
    })
  const layer = AgentLoop.layer.pipe(
    Layer.provide(
      Layer.succeed(Inference, {
        refusal: () => Effect.succeed(undefined),
        model: () => Effect.succeed({ stream, answeredBy: scriptedModel, pricing: null })
      })
    ),
    Layer.provide(Lifecycle.layer),
    Layer.provide(Layer.succeed(DatabaseHealth, { check: Effect.void })),
    Layer.provide(Layer.succeed(SchemaCheck, { check: () => Effect.die("nothing has a format here") })),
    Layer.provide(Layer.succeed(Settings, Settings.defaults))
  )
  const input = makeInput({ tools: [echo], events, journal: { finished, record } })
  const request = { ...input.request, messages: [...before, ...input.request.messages] }
  const result = yield* Effect.provide(
    AgentLoop.use((loop) => loop.answer({ ...input, request })),
    layer
  )
  const steps = new Map(stored.map((text, index) => [index, Schema.decodeSync(journal)(text)]))
  return { result, steps, events }
})

describe.each(thinking)("what %s thought", (protocol) => {
  it.live("goes back with the answer as it came, and nobody is told", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(thinks[protocol], says(protocol, "Done."))
      const { events, result } = yield* work(yield* makeModel(protocol, url))
      assert.strictEqual(result.text, "Let me see.Done.")
      assert.strictEqual(received.length, 2)
      assert.deepStrictEqual(thoughtOf[protocol](received[1]?.body), thought[protocol])
      assert.notMatch(JSON.stringify(events), /First|c2lnbmVk|Y2FsbA/)
      const kept = lasting(result.transcript).filter((message) => "reasoning" in message)
      assert.strictEqual(kept.length > 0, protocol === "openai-compatible")
    })
  )

  it.live("goes back from the journal, to the same model alone", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(thinks[protocol], says(protocol, "Done."))
      const { steps } = yield* work(yield* makeModel(protocol, url))
      steps.delete(2)
      yield* work(yield* makeModel(protocol, url), { finished: steps })
      assert.strictEqual(received.length, 3)
      assert.deepStrictEqual(received[2]?.body, received[1]?.body)
      const other = yield* makeModel(protocol, url, undefined, undefined, { model: "other" })
      yield* work(other, { finished: steps })
      assert.strictEqual(received.length, 4)
      assert.notMatch(received[3]?.raw ?? "", /First|reasoning|thinking/)
    })
  )
})

describe("what models of OpenAI thought", () => {
  it.live("goes back encrypted, and nothing is left there", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(openAi.thinks, openAi.says("Done."))
      const { result } = yield* work(yield* makeOpenAi(url, { model: "gpt-5-mini" }))
      assert.strictEqual(result.text, "Let me see.Done.")
      const [first, second] = received.map(({ body }) => body)
      assert.match(received[0]?.path ?? "", /^\/v1\/responses$/)
      assert.deepInclude(first, { store: false, include: ["reasoning.encrypted_content"] })
      assert.notInclude(received[1]?.raw ?? "", "item_reference")
      assert.notProperty(second, "previous_response_id")
      const [reasoning, message, call, output] = second.input.slice(-4)
      assert.deepInclude(reasoning, { type: "reasoning", encrypted_content: encrypted, summary: [] })
      assert.deepInclude(message, { role: "assistant" })
      assert.deepInclude(call, { type: "function_call", call_id: "call_1", name: "echo", arguments: "{}" })
      assert.deepInclude(output, { type: "function_call_output", call_id: "call_1" })
    })
  )
})

describe("what compatible servers thought", () => {
  const model = (url: string) => makeModel("openai-compatible", url)
  const assistants = (body: { messages: ReadonlyArray<Record<string, unknown>> }) =>
    body.messages.filter(({ role }) => role === "assistant")

  it.live("goes back under the name that it came under", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(
        compatible([{ reasoning: "I " }, { reasoning: "echo." }, compatibleCall()], "tool_calls"),
        says("openai-compatible", "Done.")
      )
      yield* work(yield* model(url))
      const [answer] = assistants(received[1]?.body)
      assert.strictEqual(answer?.reasoning, "I echo.")
      assert.notProperty(answer, "reasoning_content")
    })
  )

  it.live("goes back with the details that OpenRouter signs", () =>
    Effect.gen(function* () {
      const text = { type: "reasoning.text", format: "anthropic-claude-v1", index: 0 }
      const hidden = { type: "reasoning.encrypted", data: "b3Blbg==", id: "call_1", index: 1 }
      const { received, url } = yield* makeServer(
        compatible(
          [
            { reasoning: "I ", reasoning_details: [{ ...text, text: "I " }] },
            { reasoning: "echo.", reasoning_details: [{ ...text, text: "echo." }] },
            { reasoning_details: [{ ...text, signature: "c2ln" }] },
            { ...compatibleCall(), reasoning_details: [hidden] }
          ],
          "tool_calls"
        ),
        says("openai-compatible", "Done.")
      )
      yield* work(yield* model(url))
      assert.deepStrictEqual(assistants(received[1]?.body)[0]?.reasoning_details, [
        { ...text, text: "I echo.", signature: "c2ln" },
        hidden
      ])
    })
  )

  it.live("is not missed where one of its answers had none", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(
        compatible([compatibleCall("call_0")], "tool_calls"),
        compatible([{ reasoning_content: "Hm." }, compatibleCall("call_1")], "tool_calls"),
        says("openai-compatible", "Done.")
      )
      yield* work(yield* model(url))
      const shown = received.map(({ body }) => assistants(body).map((message) => message.reasoning_content))
      assert.deepStrictEqual(shown, [[], [undefined], [" ", "Hm."]])
    })
  )

  const strict: Answer = (response, received) => {
    const lacks = assistants(received.body).some((message) => !message.reasoning_content)
    const refuse = refuses("openai-compatible", 400, {
      message:
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"
    })
    return (lacks ? refuse : says("openai-compatible", "Done."))(response, received)
  }

  it.live("is not missed in what another model said before", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(strict)
      const { result } = yield* work(yield* model(url), {
        before: [
          { role: "user", content: "hi" },
          { role: "assistant", content: "", toolCalls: [{ id: "a", name: "echo", arguments: {} }] },
          {
            role: "tool",
            results: [{ id: "a", name: "echo", result: 1, isError: false, durationMs: 1 }]
          }
        ]
      })
      assert.strictEqual(result.text, "Done.")
      assert.strictEqual(received.length, 2)
      assert.strictEqual(assistants(received[1]?.body)[0]?.reasoning_content, " ")
    })
  )

  it.live("is not asked for again and again", () =>
    Effect.gen(function* () {
      const refuse = refuses("openai-compatible", 400, { message: "reasoning_content is missing" })
      const { received, url } = yield* makeServer(refuse)
      const failure = yield* Effect.flip(work(yield* model(url)))
      assert.deepInclude(failure, { _tag: "InferenceError", reason: "bad_request" })
      assert.strictEqual(received.length, 2)
    })
  )

  it.live("goes back in later turns, where tools were called", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeServer(
        thinks["openai-compatible"],
        compatible([{ reasoning_content: "So." }, { content: "Done." }], "stop")
      )
      const { result } = yield* work(yield* model(url))
      const before = [{ role: "user" as const, content: "hi" }, ...lasting(result.transcript)]
      yield* work(yield* model(url), { before })
      assert.deepStrictEqual(
        assistants(received[2]?.body).map((message) => message.reasoning_content),
        ["First\u2028I echo. 🙂", "So."]
      )
    })
  )
})
