import { describe, expect, it } from "vitest"
import * as Draft from "../../console/src/ui/PolicyDraft.ts"
import { ConnectorId } from "../../src/Schemas/Ids.ts"
import { type Policy, unset } from "../../src/Schemas/Policy.ts"

const policy: Policy = {
  autonomyLevel: "supervised",
  connectorIds: ["conn_1"],
  tools: [
    { match: "remember", rule: "allow" },
    { match: "github__*", rule: "deny" }
  ],
  maxSteps: 20,
  maxSeconds: null
}

const known: ReadonlyArray<Draft.KnownTool> = [
  ...Draft.builtinTools,
  {
    name: "github__list",
    of: {
      connector: { id: ConnectorId.make("conn_1"), providerId: "github", providerName: null, type: null },
      originalName: "list",
      readOnly: true
    }
  }
]

describe("the draft of a policy", () => {
  it("is sent back as the policy that it was", () => {
    for (const each of [policy, unset]) expect(Draft.putOf(Draft.draftOf(each))).toStrictEqual(each)
  })

  it("refuses numbers that are none, and leaves all else to the service", () => {
    const draft = Draft.draftOf(policy)
    expect(Draft.draftProblem(draft)).toBeUndefined()
    expect(Draft.draftProblem({ ...draft, maxSteps: "2.5" })).toBe(
      "maxSteps: must be a whole number from 1 on"
    )
    expect(Draft.draftProblem({ ...draft, maxSeconds: "-1" })).toMatch(/^maxSeconds: /u)
    expect(Draft.putOf({ ...draft, maxSteps: " 7 " }).maxSteps).toBe(7)
  })

  it("keeps rules apart when they are added and moved", () => {
    const rules = Draft.addRule(Draft.draftOf(policy).tools)
    expect(rules.map(({ key }) => key)).toStrictEqual([0, 1, 2])
    expect(Draft.moveRule(rules, 2, -1).map(({ key }) => key)).toStrictEqual([0, 2, 1])
    expect(Draft.moveRule(rules, 2, 1)).toStrictEqual(rules)
    expect(Draft.moveRule(rules, 0, -1)).toStrictEqual(rules)
    expect(Draft.addRule([]).map(({ key }) => key)).toStrictEqual([0])
  })
})

describe("what a draft means for the tools that are known", () => {
  it("is as the service judges them", () => {
    expect(Draft.rulings(Draft.draftOf(policy), known)).toStrictEqual([
      ["remember", "allow"],
      ["recall", "ask"],
      ["current_time", "ask"],
      ["github__list", "deny"]
    ])
    expect(Draft.rulings(Draft.draftOf(unset), known).map(([, rule]) => rule)).toStrictEqual([
      "allow",
      "allow",
      "allow",
      "allow"
    ])
    expect(Draft.rulings({ ...Draft.draftOf(unset), connectorIds: [] }, known).at(-1)).toStrictEqual([
      "github__list",
      "deny"
    ])
  })

  it("tells which tools a name with a star is of", () => {
    expect(Draft.matches("re*", known)).toStrictEqual(["remember", "recall"])
    expect(Draft.matches(" github__list ", known)).toStrictEqual(["github__list"])
    expect(Draft.matches("nothing", known)).toStrictEqual([])
  })
})
