import { assert, describe, it } from "@effect/vitest"
import * as GenAi from "../../src/Schemas/GenAi.ts"
import type { PromptMessage } from "../../src/Schemas/Inference.ts"

const asIs = (text: string) => text

describe("spans of generative AI", () => {
  it.each([
    ["openai", "openai"],
    ["anthropic", "anthropic"],
    ["google", "gcp.gemini"],
    ["openai-compatible", "openai"],
    ["offline", "offline"]
  ])("name the provider %s as the conventions do", (provider, expected) => {
    const span = GenAi.chat({ provider, model: "m", providerKeyId: null })
    assert.strictEqual(span.name, "chat m")
    assert.strictEqual(span.kind, provider === "offline" ? "internal" : "client")
    assert.strictEqual(span.attributes["gen_ai.provider.name"], expected)
  })

  it("says how an answer is wanted, and not at which texts it is to stop", () => {
    const sampling = { temperature: 0.5, topP: 1, seed: 3, stop: ["secret"], maxOutputTokens: 7 }
    const request = { sampling, format: { name: "secret", schema: null } }
    const told = GenAi.asked({ address: "http://a.test", maxOutputTokens: 7, request })
    assert.deepInclude(told, {
      "gen_ai.output.type": "json",
      "gen_ai.request.temperature": 0.5,
      "gen_ai.request.top_p": 1,
      "gen_ai.request.seed": 3
    })
    assert.notInclude(JSON.stringify(told), "secret")
  })

  it.each([
    ["https://api.openai.com/v1", "api.openai.com", 443],
    ["http://127.0.0.1:8080/v1", "127.0.0.1", 8080],
    ["http://models/v1", "models", 80],
    ["", undefined, undefined]
  ])("tell of the address %s its host and port alone", (address, host, port) => {
    const told = GenAi.asked({ address, maxOutputTokens: 7 })
    assert.deepStrictEqual(told, {
      "gen_ai.request.max_tokens": 7,
      "gen_ai.request.stream": true,
      "server.address": host,
      "server.port": port
    })
  })

  it("tell of an answer what its provider says, bounded and without secrets", () => {
    const scrub = (text: string) => text.replaceAll("sk-1", "…")
    const told = GenAi.responded({ id: "sk-1", model: `m${"x".repeat(5000)}` }, scrub)
    assert.strictEqual(told["gen_ai.response.id"], "…")
    assert.isAtMost(String(told["gen_ai.response.model"]).length, 201)
    const reasonOf = (raw: string | undefined) =>
      GenAi.responded({ finishReason: { raw, unified: "tool-calls" } }, asIs)[
        "gen_ai.response.finish_reasons"
      ]
    assert.deepStrictEqual(reasonOf("tool_use"), ["tool_use"])
    assert.deepStrictEqual(reasonOf(undefined), ["tool_calls"])
    assert.deepStrictEqual(reasonOf("whatever it says"), ["tool_calls"])
  })

  it("tell texts as valid JSON of a bounded size, the last messages first of all", () => {
    const messages = Array.from(
      { length: 100 },
      (_, n): PromptMessage => ({ role: "user", content: `${n} ${"x".repeat(10_000)}` })
    )
    const told = String(GenAi.questionContent({ system: null, messages, tools: [] })["gen_ai.input.messages"])
    assert.isAtMost(told.length, 16_384)
    const parsed = JSON.parse(told)
    assert.isAbove(parsed.length, 3)
    assert.match(parsed.at(-1).parts[0].content, /^99 /)
    const argument = { list: Array.from({ length: 5_000 }, (_, n) => `${n}`) }
    const given = String(GenAi.argumentContent(argument)["gen_ai.tool.call.arguments"])
    assert.isAtMost(given.length, 16_384)
    assert.match(JSON.parse(given), /^\{"list":\["0"/)
  })

  it("do not tell the name of a tool that there is none of", () => {
    const { attributes, name } = GenAi.executeTool({ id: "c", name: "whatever" }, undefined)
    assert.deepStrictEqual([name, attributes["gen_ai.tool.name"]], ["execute_tool", "_OTHER"])
  })
})
