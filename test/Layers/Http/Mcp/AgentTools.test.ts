import { assert, describe, it } from "@effect/vitest"
import {
  agentOfTool,
  ownName,
  plainName,
  toolNamesOf
} from "../../../../src/Layers/Http/Faces/Mcp/AgentTools.ts"

const agent = (id: string, name: string) => ({ id, name })
const form = /^[a-zA-Z0-9_-]{1,64}$/u

describe("names of agents as tools", () => {
  it("have the letters that every client takes", () => {
    for (const [name, expected] of [
      ["Research Bot", "Research_Bot"],
      ["Résumé: Überblick!", "Resume_Uberblick"],
      ["--a--", "--a--"],
      ["  __x__ ", "x"],
      ["a".repeat(100), "a".repeat(64)]
    ] as const) {
      assert.strictEqual(plainName(agent("agent_1", name)), expected)
      assert.match(ownName(agent("agent_1", name)), form)
    }
    for (const name of ["报告", "🤖", "___"])
      assert.match(plainName(agent("agent_1", name)), /^agent_[0-9a-f]{8}$/u)
  })

  it("belong to one agent each, or to none", () => {
    const agents = [
      agent("agent_1", "Bot"),
      agent("agent_2", "bot"),
      agent("agent_3", "Chat"),
      agent("agent_4", "Solo")
    ]
    const names = toolNamesOf(agents, ["chat"])
    assert.strictEqual(new Set([...names.values()].map((name) => name.toLowerCase())).size, 4)
    assert.strictEqual(names.get("agent_4"), "Solo")
    for (const one of agents) {
      for (const name of [names.get(one.id) ?? "", ownName(one), one.id]) {
        assert.strictEqual(agentOfTool(agents, ["chat"], name)?.id, one.id)
      }
    }
    for (const name of ["Bot", "bot", "Chat", "chat", "solo", ""]) {
      assert.isUndefined(agentOfTool(agents, ["chat"], name), name)
    }
    // Who was shown the name with the suffix reaches the same agent when the other is gone.
    const [first, ...rest] = agents
    assert.strictEqual(agentOfTool(rest, ["chat"], names.get("agent_2") ?? "")?.id, "agent_2")
    assert.isUndefined(agentOfTool(rest, ["chat"], names.get(first?.id ?? "") ?? ""))
  })

  it("do not depend on the order", () => {
    const agents = ["a", "b", "A", "c c", "c_c"].map((name, index) => agent(`agent_${index}`, name))
    const names = toolNamesOf(agents, [])
    assert.deepStrictEqual(
      new Map([...toolNamesOf(agents.toReversed(), [])].sort()),
      new Map([...names].sort())
    )
  })
})
