import { assert, describe, it } from "@effect/vitest"
import {
  builtinNames,
  type ConnectorTool,
  noToolNamed,
  prefixOf,
  toolNames
} from "../../src/Schemas/ToolName.ts"

const one = (prefix: string, tool: string, connectorId = "conn_1"): ConnectorTool => ({
  connectorId,
  prefix,
  tool
})

const isAllowed = /^[a-zA-Z0-9_-]{1,64}$/u

describe("toolNames", () => {
  it("joins provider and tool, and keeps what every model takes", () => {
    assert.deepStrictEqual(toolNames([one("github", "create-issue_2"), one("Zoë's 👩", "a.b/c d")]), [
      "github__create-issue_2",
      "Zo__s____a_b_c_d"
    ])
  })

  it("shortens long names, and keeps them apart and the same", () => {
    const long = [
      one("p".repeat(100), "search"),
      one("github", `${"t".repeat(100)}a`),
      one("github", `${"t".repeat(100)}b`),
      one("p".repeat(100), "t".repeat(100)),
      one("x".repeat(31), "y".repeat(31)),
      one("x".repeat(31), "y".repeat(32))
    ]
    const names = toolNames(long)
    for (const name of names) assert.match(name, isAllowed)
    assert.strictEqual(new Set(names).size, long.length)
    assert.deepStrictEqual(toolNames(long), names)
    assert.match(names[0] ?? "", /^p{47}__search_[0-9a-f]{8}$/u)
    assert.match(names[1] ?? "", /^github__t+_[0-9a-f]{8}$/u)
    assert.strictEqual(names[4], `${"x".repeat(31)}__${"y".repeat(31)}`)
  })

  it("lets the first of two keep the name; the other's depends on itself alone", () => {
    const [first, second, third] = toolNames([
      one("github", "a.b"),
      one("github", "a_b"),
      one("github", "a.b", "conn_2")
    ])
    assert.strictEqual(first, "github__a_b")
    assert.match(second ?? "", /^github__a_b_[0-9a-f]{8}$/u)
    assert.match(third ?? "", /^github__a_b_[0-9a-f]{8}$/u)
    assert.notStrictEqual(second, third)
    const others = toolNames([one("github", "zzz"), one("github", "a.b"), one("github", "a.b", "conn_2")])
    assert.strictEqual(others[2], third)
  })

  it("stays apart where a name looks like one with a suffix, and from built-in tools", () => {
    const [, suffixed] = toolNames([one("p", "a"), one("p", "a", "conn_2")])
    const tools = [one("p", "a"), one("p", suffixed?.slice(3) ?? ""), one("p", "a", "conn_2")]
    assert.strictEqual(new Set(toolNames(tools)).size, 3)
    for (const name of toolNames([one("", ""), one("", "", "conn_2"), one("remember", "")])) {
      assert.notInclude(builtinNames, name)
      assert.match(name, isAllowed)
    }
  })

  it("names twenty thousand of one name", () => {
    const tools = Array.from({ length: 20_000 }, (_, index) => one("mcp", "echo", `conn_${index}`))
    const names = toolNames(tools)
    assert.strictEqual(new Set(names).size, tools.length)
  })
})

describe("prefixOf", () => {
  it("is the provider, or the name, or the type", () => {
    const all = { providerId: "github", providerName: "GitHub", type: "mcp" }
    assert.deepStrictEqual(
      [
        prefixOf(all),
        prefixOf({ ...all, providerId: null }),
        prefixOf({ ...all, providerId: null, providerName: null })
      ],
      ["github", "GitHub", "mcp"]
    )
  })
})

describe("a name that no tool has", () => {
  it("is answered with those that there are, once each, those called alike first", () => {
    const known = ["remember", "recall", "docs__Read", "docs__write", "recall"]
    assert.strictEqual(
      noToolNamed("read", known),
      "There is no tool named read. There are: docs__Read, docs__write, recall, remember."
    )
    assert.include(noToolNamed("functions.recall", known), "There are: recall, docs__Read,")
    assert.strictEqual(noToolNamed("x", []), "There is no tool named x. There are none.")
    assert.include(noToolNamed("", known), "There are: docs__Read, docs__write, recall, remember.")
  })

  it("makes no long answer, however long it is and however many there are", () => {
    const known = Array.from({ length: 1_000 }, (_, index) => `docs__tool_of_some_length_${index}`)
    const text = noToolNamed(`${"x".repeat(100_000)}_999`, known)
    assert.isBelow(text.length, 4_500)
    assert.include(text, "There are: docs__tool_of_some_length_999, ")
    const shown = text.split("There are: ")[1]?.split(", ").length ?? 0
    assert.match(text, new RegExp(` and ${1_000 - shown} more\\.$`))
  })
})
