import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { AgentRepo } from "../../../../src/Services/AgentRepo.ts"
import { RunRepo } from "../../../../src/Services/RunRepo.ts"
import { Workspaces } from "../../../../src/Services/Workspaces.ts"
import { makeAgent } from "../../../support/Fixtures.ts"
import { makeOpenAi, refusal } from "../../../support/OpenAiClient.ts"
import { layerScripted, makeTenant } from "../../../support/Service.ts"

const hello = { model: "default", messages: [{ role: "user", content: "hello" }] }
const path = "/v1/chat/completions"

/** What is asked beside `hello`, the field at fault, and OpenAI's word for it. */
const refused: ReadonlyArray<readonly [Record<string, unknown>, param: string, code: string]> = [
  [{ model: undefined }, "model", "missing_required_parameter"],
  [{ model: 7 }, "model", "invalid_input"],
  [{ model: "" }, "model", "invalid_input"],
  [{ messages: undefined }, "messages", "missing_required_parameter"],
  [{ messages: [] }, "messages", "invalid_input"],
  [{ messages: "hello" }, "messages", "invalid_input"],
  [{ messages: ["hello"] }, "messages[0]", "invalid_input"],
  [{ messages: [{ role: "robot", content: "x" }] }, "messages[0].role", "invalid_input"],
  [
    { messages: [{ role: "function", name: "f", content: "x" }] },
    "messages[0].role",
    "unsupported_parameter"
  ],
  [{ messages: [{ role: "user" }] }, "messages[0].content", "missing_required_parameter"],
  [{ messages: [{ role: "assistant" }] }, "messages[0].content", "invalid_input"],
  [
    { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "http://x" } }] }] },
    "messages[0].content[0].type",
    "unsupported_parameter"
  ],
  [
    { messages: [...hello.messages, { role: "tool", tool_call_id: "call_1", content: "x" }] },
    "messages[1].tool_call_id",
    "invalid_input"
  ],
  [
    {
      messages: [
        {
          role: "assistant",
          tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{" } }]
        }
      ]
    },
    "messages[0].tool_calls[0].function.arguments",
    "invalid_input"
  ],
  [{ n: 2 }, "n", "unsupported_parameter"],
  [{ logprobs: true }, "logprobs", "unsupported_parameter"],
  [{ top_logprobs: 3 }, "top_logprobs", "unsupported_parameter"],
  [{ logit_bias: { 50256: -100 } }, "logit_bias", "unsupported_parameter"],
  [{ modalities: ["text", "audio"] }, "modalities", "unsupported_parameter"],
  [{ audio: { voice: "alloy", format: "mp3" } }, "audio", "unsupported_parameter"],
  [{ prediction: { type: "content", content: "x" } }, "prediction", "unsupported_parameter"],
  [{ web_search_options: {} }, "web_search_options", "unsupported_parameter"],
  [{ reasoning_effort: "low" }, "reasoning_effort", "unsupported_parameter"],
  [{ verbosity: "low" }, "verbosity", "unsupported_parameter"],
  [{ service_tier: "flex" }, "service_tier", "unsupported_parameter"],
  [{ store: true }, "store", "unsupported_parameter"],
  [{ functions: [] }, "functions", "unsupported_parameter"],
  [{ function_call: "auto" }, "function_call", "unsupported_parameter"],
  [{ stream: "yes" }, "stream", "invalid_input"],
  [{ stream_options: { include_usage: true } }, "stream_options", "invalid_input"],
  [
    { stream: true, stream_options: { include_costs: true } },
    "stream_options.include_costs",
    "unknown_parameter"
  ],
  [{ temperature: 3 }, "temperature", "invalid_input"],
  [{ max_tokens: 0 }, "max_tokens", "invalid_input"],
  [{ stop: ["a", "b", "c", "d", "e"] }, "stop", "invalid_input"],
  [{ tools: [{ type: "custom", custom: { name: "x" } }] }, "tools[0].type", "unsupported_parameter"],
  [
    { tool_choice: { type: "function", function: { name: "none" } } },
    "tool_choice.function.name",
    "invalid_input"
  ],
  [{ response_format: { type: "xml" } }, "response_format.type", "invalid_input"],
  [{ top_k: 5 }, "top_k", "unknown_parameter"],
  [{ temprature: 1 }, "temprature", "unknown_parameter"]
]

describe("what is refused under /v1", () => {
  it.effect("names the field at fault in OpenAI's form, and begins nothing", () =>
    Effect.gen(function* () {
      const { send, token, workspaceId } = yield* makeOpenAi
      for (const [given, param, code] of refused) {
        for (const stream of "stream" in given || "stream_options" in given
          ? [undefined]
          : [undefined, true]) {
          const json = { ...hello, ...(stream && { stream }), ...given }
          const answer = yield* send("POST", path, { token, json })
          assert.strictEqual(answer.status, 400, answer.text)
          const { error, ...rest } = answer.body as { error: Record<string, unknown> }
          assert.deepStrictEqual(rest, {})
          assert.deepStrictEqual(Object.keys(error), ["message", "type", "param", "code"])
          assert.deepStrictEqual(
            [error.type, error.param, error.code],
            ["invalid_request_error", param, code]
          )
          assert.strictEqual(answer.headers.get("x-error-code"), "invalid_input")
          assert.isTrue(String(error.message).startsWith(`${param}: `), answer.text)
        }
      }
      const runs = yield* RunRepo
      assert.strictEqual((yield* runs.list({ workspaceId, limit: 1, offset: 0 })).total, 0)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("takes what clients send that changes nothing", () =>
    Effect.gen(function* () {
      const { send, token } = yield* makeOpenAi
      const json = {
        ...hello,
        n: 1,
        logprobs: false,
        top_logprobs: null,
        logit_bias: {},
        modalities: ["text"],
        service_tier: "auto",
        store: false,
        metadata: { a: "b" },
        user: "u",
        safety_identifier: "s",
        prompt_cache_key: "k",
        parallel_tool_calls: true,
        tools: null,
        tool_choice: null,
        response_format: { type: "text" },
        stop: null,
        stream: null
      }
      assert.strictEqual((yield* send("POST", path, { token, json })).status, 200)
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("is told in OpenAI's form also where no endpoint says it", () =>
    Effect.gen(function* () {
      const { send, token } = yield* makeOpenAi
      const told = Effect.fnUntraced(function* (
        method: string,
        at: string,
        options: Parameters<typeof send>[2]
      ) {
        const { body, headers, status } = yield* send(method, at, options)
        const { code, message, param, type } = (body as { error: Record<string, unknown> }).error
        assert.isString(message)
        return [status, type, param, code, headers.get("x-error-code")]
      })
      const invalid = "invalid_request_error"
      assert.deepStrictEqual(yield* told("GET", "/v1/models", {}), [
        401,
        invalid,
        null,
        "invalid_api_key",
        "unauthenticated"
      ])
      assert.deepStrictEqual(yield* told("GET", "/v1/none", { token }), [
        404,
        invalid,
        null,
        "not_found",
        "not_found"
      ])
      assert.deepStrictEqual(yield* told("DELETE", path, { token }), [
        405,
        invalid,
        null,
        "method_not_allowed",
        "method_not_allowed"
      ])
      assert.deepStrictEqual(yield* told("POST", path, { token, body: "{" }), [
        400,
        invalid,
        "body",
        "invalid_input",
        "invalid_input"
      ])
      const text = { token, body: "{}", headers: { "content-type": "text/plain" } }
      assert.deepStrictEqual((yield* told("POST", path, text)).slice(0, 2), [415, invalid])
      const large = { token, json: { ...hello, user: "x".repeat(1_100_000) } }
      assert.deepStrictEqual((yield* told("POST", path, large)).slice(0, 4), [
        413,
        invalid,
        null,
        "payload_too_large"
      ])
      assert.deepStrictEqual(yield* told("GET", "/v1/models?page=1", { token }), [
        400,
        invalid,
        "page",
        "invalid_input",
        "invalid_input"
      ])
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("is no model that the caller can see, or one that gets no work", () =>
    Effect.gen(function* () {
      const { client, user, workspaceId } = yield* makeOpenAi
      const foreign = yield* makeAgent((yield* makeTenant()).workspaceId, { name: "Foreign" })
      const asking = (model: string, headers: Record<string, string> = {}) =>
        refusal(() =>
          client.chat.completions.create({ model, messages: [{ role: "user", content: "x" }] }, { headers })
        )
      for (const model of ["gpt-5", "Foreign", foreign.id, "agent_none"]) {
        const error = yield* asking(model)
        assert.deepStrictEqual([error.status, error.code, error.param], [404, "model_not_found", "model"])
      }
      const elsewhere = yield* asking("default", { "x-workspace-id": foreign.workspaceId })
      assert.deepStrictEqual(
        [elsewhere.status, elsewhere.code, elsewhere.type],
        [403, "forbidden", "permission_error"]
      )

      const resting = yield* makeAgent(workspaceId, { name: "Resting" })
      yield* (yield* AgentRepo).update(resting.id, { isActive: false }, new Date(0))
      const inactive = yield* asking("Resting")
      assert.deepStrictEqual([inactive.status, inactive.code], [409, "agent_inactive"])
      assert.strictEqual(inactive.headers?.get("x-should-retry"), "false")

      yield* (yield* Workspaces).create(user, { name: "Second" })
      const several = yield* asking("default")
      assert.deepStrictEqual([several.status, several.param], [400, "X-Workspace-Id"])
    }).pipe(Effect.provide(layerScripted()))
  )
})
