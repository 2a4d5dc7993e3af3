import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import type { PromptMessage } from "../../src/Schemas/Inference.ts"
import { type Dialect, wireNames } from "../../src/Schemas/WireName.ts"

/** What each provider takes, by its own words. */
const taken: Readonly<Record<Dialect, { readonly name: RegExp; readonly id: RegExp }>> = {
  openai: { name: /^[a-zA-Z0-9_-]{1,64}$/, id: /^[a-zA-Z0-9_-]{1,40}$/ },
  "openai-compatible": { name: /^[a-zA-Z0-9_-]{1,64}$/, id: /^[\x21-\x7e]{1,40}$/ },
  anthropic: { name: /^[a-zA-Z0-9_-]{1,128}$/, id: /^[a-zA-Z0-9_-]{1,64}$/ },
  google: { name: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/, id: /^[\x21-\x7e]{1,64}$/ }
}
const dialects = Object.keys(taken) as ReadonlyArray<Dialect>

const history = (...calls: ReadonlyArray<readonly [id: string, name: string]>) =>
  calls.flatMap(
    ([id, name]): ReadonlyArray<PromptMessage> => [
      { role: "assistant", content: "", toolCalls: [{ id, name, arguments: {} }] },
      { role: "tool", results: [{ id, name, result: 1, isError: false, durationMs: 1 }] }
    ]
  )

const text = Schema.Union([
  Schema.String,
  Schema.Literals(["", "a", "a.b", "a_b", "a:b", "1", "ü", "ä"]),
  Schema.Literals(["x".repeat(40), "x".repeat(41), "x".repeat(300), `${"x".repeat(300)}y`])
])
const calls = Schema.Array(Schema.Tuple([text, text])).check(Schema.isMaxLength(12))
const arbitrary = { runs: 300 }

describe.each(dialects)("names and ids for %s", (dialect) => {
  it("stay as they are where they are taken", () => {
    const { id, name, tool } = wireNames(dialect, [{ name: "docs__read" }], history(["call_1", "recall"]))
    assert.deepStrictEqual([name("docs__read"), tool("docs__read")], ["docs__read", "docs__read"])
    assert.deepStrictEqual([id("call_1"), name("recall"), tool("recall")], ["call_1", "recall", "recall"])
  })

  it.each(["rec all ü", "", "x".repeat(300), "7\u2028"])("are made to be taken: %j", (given) => {
    const { id, name } = wireNames(dialect, [], history([given, given]))
    assert.match(name(given), taken[dialect].name)
    assert.match(id(given), taken[dialect].id)
  })

  it.prop(
    "are taken, and never the same for two",
    { made: calls, tools: Schema.Array(text).check(Schema.isMaxLength(12)) },
    ({ made, tools }) => {
      const offered = tools.map((name) => ({ name }))
      const { id, name, tool } = wireNames(dialect, offered, history(...made))
      const ids = new Set(made.map(([given]) => given))
      const names = new Set([...made.map(([, given]) => given), ...tools])
      assert.strictEqual(new Set(Array.from(ids, id)).size, ids.size)
      assert.strictEqual(new Set(Array.from(names, name)).size, names.size)
      for (const given of ids) {
        assert.match(id(given), taken[dialect].id)
        if (taken[dialect].id.test(given)) assert.strictEqual(id(given), given)
      }
      for (const given of names) {
        assert.match(name(given), taken[dialect].name)
        if (taken[dialect].name.test(given)) assert.strictEqual(name(given), given)
      }
      for (const given of tools) assert.strictEqual(tool(name(given)), given)
    },
    { arbitrary }
  )

  it.prop(
    "are the same in every request",
    { others: calls, given: text },
    ({ given, others }) => {
      const alone = wireNames(dialect, [], history([given, given]))
      const among = wireNames(dialect, [], history(...others, [given, given]))
      assert.strictEqual(among.name(given), alone.name(given))
      assert.strictEqual(among.id(given), alone.id(given))
    },
    { arbitrary }
  )

  it("leave room for one that looks like what was made of another", () => {
    const [made = ""] = [wireNames(dialect, [], history(["a b", "a b"])).name("a b")]
    const { id, name } = wireNames(dialect, [], history(["a b", "a b"], [made, made]))
    assert.deepStrictEqual([name(made), id(made)], [made, made])
    assert.notStrictEqual(name("a b"), made)
    assert.notStrictEqual(id("a b"), made)
  })
})

describe("names and ids", () => {
  it("of Kimi stay for Kimi", () => {
    const { id } = wireNames("openai-compatible", [], history(["functions.recall:0", "recall"]))
    assert.strictEqual(id("functions.recall:0"), "functions.recall:0")
  })

  it("of tools that Gemini does not take are told as they are called", () => {
    const { name, tool } = wireNames("google", [{ name: "7shifts__list" }], [])
    assert.match(name("7shifts__list"), /^_7shifts__list_[0-9a-f]{8}$/)
    assert.strictEqual(tool(name("7shifts__list")), "7shifts__list")
    assert.strictEqual(tool("made_up"), "made_up")
  })
})
