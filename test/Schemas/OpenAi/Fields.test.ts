import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { argumentsOf } from "../../../src/Schemas/OpenAi/Calls.ts"
import { textOf } from "../../../src/Schemas/OpenAi/Content.ts"
import type { Read } from "../../../src/Schemas/OpenAi/Fields.ts"
import { formatOf } from "../../../src/Schemas/OpenAi/Format.ts"
import { problemOf } from "../../../src/Schemas/OpenAi/Problem.ts"
import { responseOf } from "../../../src/Schemas/OpenAi/ResponseRequest.ts"
import { samplingOf } from "../../../src/Schemas/OpenAi/Sampling.ts"
import { toolsOf } from "../../../src/Schemas/OpenAi/Tools.ts"
import { readRequest } from "../../../src/Schemas/UiStream/Request.ts"

const read = <A>(result: Read<A>): A => Result.getOrThrow(result)
const refused = <A>(result: Read<A>): string =>
  Result.isFailure(result) ? result.failure.error : assert.fail(`read ${JSON.stringify(result.success)}`)

const content = (value: Schema.Json) => textOf({ name: "messages[0].content", value })

describe("the text of a message", () => {
  it("is a string, or parts of text", () => {
    assert.strictEqual(read(content("hello")), "hello")
    assert.strictEqual(
      read(
        content([
          { type: "text", text: "a" },
          { type: "input_text", text: "b" },
          { type: "output_text", text: "c", annotations: [] },
          { type: "refusal", refusal: "d" }
        ])
      ),
      "a\nb\nc\nd"
    )
  })

  it("is nothing else, and the part at fault is named", () => {
    assert.strictEqual(
      refused(
        content([
          { type: "text", text: "a" },
          { type: "image_url", image_url: { url: "data:" } }
        ])
      ),
      "messages[0].content[1].type: is not supported: a message is text"
    )
    assert.strictEqual(refused(content([{ type: "text" }])), "messages[0].content[0].text: is required")
    assert.strictEqual(refused(content(["a"])), "messages[0].content[0]: must be an object")
    assert.strictEqual(refused(content(1)), "messages[0].content: must be a string or a list of parts")
    assert.strictEqual(refused(content("\u0000")), "messages[0].content: must not contain NUL characters")
  })
})

const weather = { name: "weather", description: "w", parameters: { type: "object" } }
const nested = (given: Schema.JsonObject) => toolsOf(given, true)

describe("what is kept as it is", () => {
  it("has no text, and no name of a member, that can't be stored", () => {
    const nul = "must not contain NUL characters"
    const surrogate = "must be well-formed Unicode"
    const tool = (parameters: Schema.JsonObject) =>
      nested({ tools: [{ type: "function", function: { ...weather, parameters } }] })
    const at = "tools[0].function.parameters"
    assert.strictEqual(refused(tool({ enum: [1, null, "\u0000"] })), `${at}: ${nul}`)
    assert.strictEqual(refused(tool({ properties: { "\ud800": {} } })), `${at}: ${surrogate}`)
    const format = { type: "json_schema", name: "a", schema: { const: "\u0000" } }
    assert.strictEqual(
      refused(formatOf({ name: "text.format", value: format }, false)),
      `text.format.schema: ${nul}`
    )
    const metadata = (value: Schema.JsonObject) =>
      responseOf({ model: "default", input: "a", metadata: value })
    assert.strictEqual(refused(metadata({ "\u0000": "a" })), `metadata: ${nul}`)
    assert.strictEqual(refused(metadata({ "\udfff": "a" })), `metadata: ${surrogate}`)
    const page = (inputSchema: Schema.JsonObject) =>
      readRequest({
        id: "a",
        messages: [{ id: "b", role: "user", parts: [{ type: "text", text: "c" }] }],
        tools: { a: { inputSchema } }
      })
    assert.strictEqual(refused(page({ title: "\u0000" })), `tools.a.inputSchema: ${nul}`)
  })

  it("is replaced where a model or a tool made it", () => {
    const given = (value: string) => argumentsOf({ name: "arguments", value })
    assert.deepStrictEqual(read(given('{"a\\u0000":"\\ud800"}')), { "a\ufffd": "\ufffd" })
    assert.include(
      JSON.stringify(read(given("[".repeat(100_000) + "]".repeat(100_000)))),
      "nested too deeply"
    )
  })
})

describe("the tools of the caller", () => {
  it("are functions, as chat completions and as responses write them", () => {
    const tools = [{ ...weather, readOnly: false }]
    assert.deepStrictEqual(
      read(nested({ tools: [{ type: "function", function: { ...weather, strict: true } }] })),
      {
        tools,
        toolChoice: "auto"
      }
    )
    assert.deepStrictEqual(
      read(
        toolsOf(
          {
            tools: [{ type: "function", ...weather, strict: null }],
            tool_choice: { type: "function", name: "weather" }
          },
          false
        )
      ),
      { tools, toolChoice: { name: "weather" } }
    )
    assert.deepStrictEqual(read(nested({ tool_choice: "none", tools: [] })), {
      tools: [],
      toolChoice: "none"
    })
    assert.deepStrictEqual(read(nested({ tools: [{ type: "function", function: { name: "f" } }] })).tools, [
      { name: "f", description: "", parameters: { type: "object", properties: {} }, readOnly: false }
    ])
  })

  it("are refused by the field at fault", () => {
    const tool = { type: "function", function: weather }
    const cases: ReadonlyArray<readonly [Schema.JsonObject, string]> = [
      [{ tools: {} }, "tools: must be at most 128 items"],
      [{ tools: Array.from({ length: 129 }, () => tool) }, "tools: must be at most 128 items"],
      [{ tools: [{ type: "web_search" }] }, "tools[0].type: is not supported: tools are functions"],
      [{ tools: [{ function: weather }] }, "tools[0].type: is required"],
      [{ tools: [{ type: "function" }] }, "tools[0].function: is required"],
      [{ tools: [{ type: "function", function: {} }] }, "tools[0].function.name: is required"],
      [
        { tools: [{ type: "function", function: { name: "a b" } }] },
        "tools[0].function.name: must be of letters, digits, _ and - alone"
      ],
      [
        { tools: [{ type: "function", function: { name: "a", parameters: [] } }] },
        "tools[0].function.parameters: must be an object"
      ],
      [{ tools: [tool, tool] }, "tools[1].function.name: must be another than that of the tools before it"],
      [{ tool_choice: "any" }, 'tool_choice: must be "auto", "none", "required" or a function'],
      [
        { tool_choice: { type: "allowed_tools" } },
        "tool_choice.type: is not supported: it may be a function"
      ],
      [
        { tools: [tool], tool_choice: { type: "function", function: { name: "other" } } },
        "tool_choice.function.name: must be that of one of tools"
      ],
      [
        { tools: [tool], parallel_tool_calls: false },
        "parallel_tool_calls: is not supported: an answer may call several tools at once"
      ]
    ]
    for (const [given, sentence] of cases) assert.strictEqual(refused(nested(given)), sentence)
  })

  it("have arguments as JSON in a text", () => {
    const of = (value: Schema.Json) => argumentsOf({ name: "a", value })
    assert.deepStrictEqual(read(of('{"city":"Berlin"}')), { city: "Berlin" })
    assert.deepStrictEqual(read(of("")), {})
    assert.strictEqual(refused(of("{")), "a: must be JSON in a string")
    assert.strictEqual(refused(of({})), "a: must be a string")
  })
})

describe("the format of the answer", () => {
  const nestedFormat = (value: Schema.Json) => formatOf({ name: "response_format", value }, true)
  const schema = { type: "object" }

  it("is text, any JSON, or JSON of a schema", () => {
    assert.isNull(read(nestedFormat(null)))
    assert.isNull(read(nestedFormat({ type: "text" })))
    assert.deepStrictEqual(read(nestedFormat({ type: "json_object" })), { name: "json_object", schema: null })
    assert.deepStrictEqual(
      read(nestedFormat({ type: "json_schema", json_schema: { name: "n", schema, strict: true } })),
      { name: "n", schema }
    )
    assert.deepStrictEqual(
      read(
        formatOf(
          { name: "text.format", value: { type: "json_schema", name: "n", description: "d", schema } },
          false
        )
      ),
      { name: "n", description: "d", schema }
    )
  })

  it("is refused by the field at fault", () => {
    assert.strictEqual(refused(nestedFormat("json")), "response_format: must be an object")
    assert.strictEqual(
      refused(nestedFormat({ type: "grammar" })),
      'response_format.type: must be "text", "json_object" or "json_schema"'
    )
    assert.strictEqual(
      refused(nestedFormat({ type: "json_schema", json_schema: { name: "n" } })),
      "response_format.json_schema.schema: is required"
    )
    assert.strictEqual(
      refused(nestedFormat({ type: "json_schema", json_schema: { name: "a b", schema } })),
      "response_format.json_schema.name: must be of letters, digits, _ and - alone"
    )
  })
})

describe("how an answer is made", () => {
  it("is read as it is named", () => {
    assert.deepStrictEqual(read(samplingOf({})), {})
    assert.deepStrictEqual(
      read(
        samplingOf({
          temperature: 0,
          top_p: 1,
          max_tokens: 5,
          max_completion_tokens: 7,
          stop: "END",
          seed: -1,
          presence_penalty: -2,
          frequency_penalty: null
        })
      ),
      { temperature: 0, topP: 1, maxOutputTokens: 7, stop: ["END"], seed: -1, presencePenalty: -2 }
    )
    assert.deepStrictEqual(read(samplingOf({ stop: ["a", "b"] })).stop, ["a", "b"])
  })

  it("is refused out of its range", () => {
    assert.strictEqual(refused(samplingOf({ temperature: 2.1 })), "temperature: must be a number from 0 to 2")
    assert.strictEqual(refused(samplingOf({ top_p: "1" })), "top_p: must be a number from 0 to 1")
    assert.strictEqual(
      refused(samplingOf({ max_tokens: 0.5 })),
      "max_tokens: must be a whole number from 1 to 10000000"
    )
    assert.strictEqual(
      refused(samplingOf({ stop: ["a", "b", "c", "d", "e"] })),
      "stop: must be at most 4 items"
    )
    assert.strictEqual(refused(samplingOf({ stop: [""] })), "stop[0]: must be 1 to 1000 characters")
  })
})

describe("an error in OpenAI's form", () => {
  it("names the field, and says in OpenAI's words what it has words for", () => {
    assert.deepStrictEqual(
      problemOf(400, "invalid_input", "tools[0].type: is not supported: tools are functions"),
      {
        message: "tools[0].type: is not supported: tools are functions",
        type: "invalid_request_error",
        param: "tools[0].type",
        code: "unsupported_parameter"
      }
    )
    const told = (status: number, code: string, error: string) => {
      const problem = problemOf(status, code, error)
      return [problem.type, problem.param, problem.code]
    }
    const invalid = "invalid_request_error"
    assert.deepStrictEqual(told(400, "invalid_input", "n: must be 1"), [invalid, "n", "invalid_input"])
    assert.deepStrictEqual(told(400, "invalid_input", "model: is required"), [
      invalid,
      "model",
      "missing_required_parameter"
    ])
    assert.deepStrictEqual(told(400, "invalid_input", "foo: is no parameter of this endpoint"), [
      invalid,
      "foo",
      "unknown_parameter"
    ])
    assert.deepStrictEqual(told(404, "not_found", "model: does not exist"), [
      invalid,
      "model",
      "model_not_found"
    ])
    assert.deepStrictEqual(told(404, "not_found", "there is nothing at this path"), [
      invalid,
      null,
      "not_found"
    ])
    assert.deepStrictEqual(told(401, "unauthenticated", "x"), [invalid, null, "invalid_api_key"])
    assert.deepStrictEqual(told(429, "rate_limited", "x"), ["rate_limit_error", null, "rate_limit_exceeded"])
    assert.deepStrictEqual(told(403, "budget_exceeded", "x"), [
      "insufficient_quota",
      null,
      "insufficient_quota"
    ])
    assert.deepStrictEqual(told(403, "forbidden", "x"), ["permission_error", null, "forbidden"])
    assert.deepStrictEqual(told(500, "internal_error", "x"), ["server_error", null, "internal_error"])
  })
})
