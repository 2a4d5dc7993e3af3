import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { ask, begins, makeModel, makeOpenAi, makeServer } from "../../support/Models.ts"

const sse = (...data: ReadonlyArray<object | string>): string =>
  data
    .map((each) => {
      const type = typeof each === "object" && "type" in each ? `event: ${each.type}\n` : ""
      return `${type}data: ${typeof each === "string" ? each : JSON.stringify(each)}\n\n`
    })
    .join("")

const chunk = { id: "1", object: "chat.completion.chunk", created: 1, model: "m" }
const item = { type: "message", id: "msg_1", role: "assistant" }

/** 100 tokens were read, 90 of them from a cache, in the way in which each provider says so. */
const answers = {
  "openai-compatible": sse(
    { ...chunk, choices: [{ index: 0, delta: { content: "ok" }, finish_reason: "stop" }] },
    {
      ...chunk,
      choices: [],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 5,
        total_tokens: 105,
        prompt_tokens_details: { cached_tokens: 90 }
      }
    },
    "[DONE]"
  ),
  openai: sse(
    { type: "response.created", response: { id: "resp_1", created_at: 1, model: "m" } },
    { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
    { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: "ok" },
    {
      type: "response.output_item.done",
      output_index: 0,
      item: { ...item, content: [{ type: "output_text", text: "ok", annotations: [] }] }
    },
    {
      type: "response.completed",
      response: {
        id: "resp_1",
        usage: { input_tokens: 100, input_tokens_details: { cached_tokens: 90 }, output_tokens: 5 }
      }
    }
  ),
  anthropic: sse(
    {
      type: "message_start",
      message: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "m",
        content: [],
        stop_reason: null,
        usage: { input_tokens: 10, cache_read_input_tokens: 90, output_tokens: 1 }
      }
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "ok" } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } },
    { type: "message_stop" }
  ),
  google: sse({
    candidates: [{ content: { role: "model", parts: [{ text: "ok" }] }, finishReason: "STOP" }],
    usageMetadata: {
      promptTokenCount: 100,
      cachedContentTokenCount: 90,
      candidatesTokenCount: 5,
      totalTokenCount: 105
    }
  })
} as const

describe.each(Object.keys(answers) as ReadonlyArray<keyof typeof answers>)(
  "cached tokens of %s",
  (protocol) => {
    it.live("are counted apart, and among all that were read", () =>
      Effect.gen(function* () {
        const { url } = yield* makeServer(begins(answers[protocol], (response) => void response.end()))
        const told = yield* ask(yield* protocol === "openai" ? makeOpenAi(url) : makeModel(protocol, url))
        const expected = [{ inputTokens: 100, cachedInputTokens: 90, outputTokens: 5 }]
        assert.deepStrictEqual(told.usage, expected as never, told.shown)
      })
    )
  }
)
