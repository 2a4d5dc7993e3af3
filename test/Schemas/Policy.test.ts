import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { AutonomyLevel } from "../../src/Schemas/Autonomy.ts"
import { ConnectorId } from "../../src/Schemas/Ids.ts"
import {
  type JudgedTool,
  makeRuling,
  onlyRestricts,
  overBounds,
  type Policy,
  policyOf,
  Rule,
  resolvePolicy,
  type ToolRule,
  unset
} from "../../src/Schemas/Policy.ts"
import { toolNames } from "../../src/Schemas/ToolName.ts"
import { below, isLucky, pick } from "../support/Chance.ts"

const levels = AutonomyLevel.literals
const rulesOrNone = [...Rule.literals, null]

const place = {
  connectorId: ConnectorId.make("conn_1"),
  connectorName: "Documents",
  place: "p",
  prefix: "docs",
  tool: "write"
}
const builtin: JudgedTool = { name: "t", binding: null }
const tools = {
  "read-only": { name: "t", binding: { ...place, readOnly: true } },
  "not read-only": { name: "t", binding: { ...place, readOnly: false } },
  "built-in": builtin
} as const

const policy = (given: Partial<Policy>): Policy => ({ ...unset, ...given })
const rule = (match: string, rule: Rule): ToolRule => ({ match, rule })

/** As CONTRACT.md section 11 says it, in its order. */
const expected = (
  level: AutonomyLevel,
  kind: keyof typeof tools,
  job: Rule | null,
  agent: Rule | null
): Rule => {
  if (job === "deny" || agent === "deny") return "deny"
  if (job !== null) return job
  if (agent !== null) return agent
  if (level === "supervised") return "ask"
  return level === "semi-autonomous" && kind === "not read-only" ? "ask" : "allow"
}

describe("what a run may do with a tool", () => {
  for (const level of levels) {
    for (const kind of Object.keys(tools) as ReadonlyArray<keyof typeof tools>) {
      for (const job of rulesOrNone) {
        for (const agent of rulesOrNone) {
          it(`${level}, ${kind}, by its job ${job}, by its agent ${agent}`, () => {
            const of = (own: Rule | null) =>
              own === null ? null : policy({ tools: [rule("other", "deny"), rule("t", own)] })
            const resolved = resolvePolicy({
              own: { autonomyLevel: level },
              job: of(job),
              agent: of(agent)
            })
            assert.strictEqual(makeRuling(resolved)(tools[kind]), expected(level, kind, job, agent))
          })
        }
      }
    }
  }

  it("is what the first rule that matches says, but for a deny behind it", () => {
    const judge = (tools: ReadonlyArray<ToolRule>) =>
      makeRuling(resolvePolicy({ job: policy({ tools }), agent: null }))(builtin)
    assert.strictEqual(judge([rule("t", "allow"), rule("*", "ask")]), "allow")
    assert.strictEqual(judge([rule("*", "ask"), rule("t", "allow")]), "ask")
    assert.strictEqual(judge([rule("t", "allow"), rule("x", "ask"), rule("*", "deny")]), "deny")
  })

  it("is the same by each name that a tool may have", () => {
    const one = { connectorId: "conn_1", prefix: "my docs", tool: "write it" }
    const other = { connectorId: "conn_2", prefix: "my docs", tool: "write it" }
    const [plain = "", suffixed = ""] = toolNames([other, one])
    assert.notStrictEqual(plain, suffixed)
    const long = { ...one, tool: "w".repeat(100) }
    const [cut = ""] = toolNames([long])
    const bindingOf = (tool: typeof one) => ({
      ...place,
      ...tool,
      connectorId: ConnectorId.make(tool.connectorId)
    })
    const judge = (match: string, name: string, tool = one) =>
      makeRuling(resolvePolicy({ agent: policy({ tools: [rule(match, "deny")] }) }))({
        name,
        binding: bindingOf(tool)
      })
    for (const name of [plain, suffixed]) {
      for (const match of ["my docs__write it", "my_docs__write_it", suffixed, "my_docs__*"]) {
        assert.strictEqual(judge(match, name), "deny", `${match} ${name}`)
      }
      assert.notStrictEqual(judge("your_docs__*", name), "deny")
    }
    for (const match of [cut, `my_docs__${"w".repeat(100)}`]) {
      assert.strictEqual(judge(match, cut, long), "deny", match)
    }
  })

  it("goes by the name of the connector where a version before has not kept the prefix", () => {
    const { prefix: _, ...before } = place
    const ruling = makeRuling(resolvePolicy({ agent: policy({ tools: [rule("Documents__write", "deny")] }) }))
    assert.strictEqual(ruling({ name: "shown", binding: { ...before, readOnly: true } }), "deny")
  })

  it("is nothing with a connector that it may not have", () => {
    const ruling = makeRuling(
      resolvePolicy({ agent: policy({ connectorIds: ["conn_2"], tools: [rule("*", "allow")] }) })
    )
    assert.strictEqual(ruling(tools["read-only"]), "deny")
    assert.strictEqual(ruling(builtin), "allow")
  })

  it("is what it was before where there are no policies", () => {
    assert.deepStrictEqual(resolvePolicy({ agent: null }), {
      autonomyLevel: "semi-autonomous",
      connectorIds: null,
      policy: null
    })
  })
})

describe("what a run takes from policies", () => {
  it("is the level of the first who says one", () => {
    for (const own of [undefined, ...levels]) {
      for (const job of [null, ...levels]) {
        for (const agent of [null, ...levels]) {
          const { autonomyLevel } = resolvePolicy({
            own: { autonomyLevel: own },
            job: policy({ autonomyLevel: job }),
            agent: policy({ autonomyLevel: agent })
          })
          assert.strictEqual(autonomyLevel, own ?? job ?? agent ?? "semi-autonomous")
        }
      }
    }
  })

  it("is what all of them have of connectors", () => {
    const of = (
      own: ReadonlyArray<string> | undefined,
      job: ReadonlyArray<string> | null,
      agent: ReadonlyArray<string> | null
    ) => {
      const { connectorIds, policy: kept } = resolvePolicy({
        own: { connectorIds: own },
        job: policy({ connectorIds: job }),
        agent: policy({ connectorIds: agent })
      })
      return [connectorIds, kept?.connectorIds]
    }
    assert.deepStrictEqual(of(undefined, null, null), [null, null])
    assert.deepStrictEqual(of(["a", "b"], null, null), [["a", "b"], null])
    assert.deepStrictEqual(of(undefined, ["a", "b"], ["b", "c"]), [null, ["b"]])
    assert.deepStrictEqual(of(["a", "b", "c"], ["a", "b"], ["b", "c"]), [["b"], ["b"]])
    assert.deepStrictEqual(of(["a"], ["b"], null), [[], ["b"]])
    assert.deepStrictEqual(of([], null, ["a"]), [[], ["a"]])
  })

  it("is the least of each number", () => {
    const { policy: kept } = resolvePolicy({
      job: policy({ maxSteps: 7, maxSeconds: 5 }),
      agent: policy({ maxSteps: 3 })
    })
    assert.deepStrictEqual([kept?.maxSteps, kept?.maxSeconds], [3, 5])
  })

  it("has nothing of one that says nothing", () => {
    assert.isNull(policyOf({}))
    assert.isNull(policyOf(unset))
    assert.deepStrictEqual(policyOf({ connectorIds: ["a", "a"] }), policy({ connectorIds: ["a"] }))
    assert.deepStrictEqual(policyOf({ connectorIds: [] }), policy({ connectorIds: [] }))
  })

  it("has numbers within the bounds of the service", () => {
    const bounds = { maxSteps: 50, maxSeconds: 60 }
    assert.isUndefined(overBounds(null, bounds))
    assert.isUndefined(overBounds(policy(bounds), bounds))
    assert.strictEqual(
      overBounds(policy({ maxSteps: 51 }), bounds),
      "maxSteps: must be a whole number from 1 to 50"
    )
    assert.strictEqual(
      overBounds(policy({ maxSeconds: 61 }), bounds),
      "maxSeconds: must be a whole number from 1 to 60"
    )
  })
})

describe("a change that only restricts", () => {
  const [allowX, askX, denyX] = [rule("x", "allow"), rule("x", "ask"), rule("x", "deny")]
  const askAll = rule("*", "ask")
  const table: ReadonlyArray<readonly [string, Partial<Policy>, Partial<Policy>, boolean]> = [
    ["nothing", {}, {}, true],
    ["a lower level", { autonomyLevel: "autonomous" }, { autonomyLevel: "supervised" }, true],
    ["a higher level", { autonomyLevel: "supervised" }, { autonomyLevel: "semi-autonomous" }, false],
    ["no level any more", { autonomyLevel: "supervised" }, {}, false],
    ["the lowest level where there was none", {}, { autonomyLevel: "supervised" }, true],
    ["a level where there was none", {}, { autonomyLevel: "semi-autonomous" }, false],
    ["connectors where there were all", {}, { connectorIds: ["a"] }, true],
    ["fewer connectors", { connectorIds: ["a", "b"] }, { connectorIds: ["b"] }, true],
    ["no connectors", { connectorIds: ["a"] }, { connectorIds: [] }, true],
    ["another connector", { connectorIds: ["a"] }, { connectorIds: ["b"] }, false],
    ["all connectors", { connectorIds: [] }, {}, false],
    ["a number where there was none", {}, { maxSteps: 3 }, true],
    ["a smaller number", { maxSteps: 3, maxSeconds: 3 }, { maxSteps: 2, maxSeconds: 3 }, true],
    ["a larger number", { maxSeconds: 3 }, { maxSeconds: 4 }, false],
    ["no number any more", { maxSteps: 3 }, {}, false],
    ["one more deny", { tools: [allowX] }, { tools: [allowX, denyX] }, true],
    ["one more ask", { tools: [allowX] }, { tools: [askX, allowX] }, true],
    ["one more allow", {}, { tools: [allowX] }, false],
    ["a deny less", { tools: [denyX, askX] }, { tools: [askX] }, false],
    ["an ask less", { tools: [askX] }, {}, false],
    ["an allow less", { tools: [allowX, askX] }, { tools: [askX] }, true],
    ["a deny in place of an ask", { tools: [askX] }, { tools: [denyX] }, true],
    ["an ask in place of a deny", { tools: [denyX] }, { tools: [askX] }, false],
    ["an ask in place of an allow", { tools: [allowX] }, { tools: [askX] }, true],
    ["a deny that is wider", { tools: [denyX] }, { tools: [rule("*", "deny")] }, true],
    ["a deny that is narrower", { tools: [rule("x*", "deny")] }, { tools: [denyX] }, false],
    ["an allow that is narrower", { tools: [rule("x*", "allow")] }, { tools: [allowX] }, true],
    ["an allow that is wider", { tools: [allowX] }, { tools: [rule("x*", "allow")] }, false],
    ["an allow in front of an ask", { tools: [askAll, allowX] }, { tools: [allowX, askAll] }, false],
    ["an allow behind an ask", { tools: [allowX, askAll] }, { tools: [askAll, allowX] }, true],
    ["denies in another order", { tools: [denyX, askX] }, { tools: [askX, denyX] }, true],
    ["lower here and higher there", { maxSteps: 3 }, { maxSteps: 2, tools: [allowX] }, false]
  ]
  for (const [name, before, after, expected] of table) {
    it(`${name}: ${expected}`, () => {
      assert.strictEqual(onlyRestricts(policyOf(before), policyOf(after)), expected)
    })
  }

  it.effect("makes no tool freer, whatever else is said", () =>
    Effect.gen(function* () {
      const freedom = (rule: Rule) => ["deny", "ask", "allow"].indexOf(rule)
      const some = Effect.gen(function* () {
        const rules = yield* Effect.replicateEffect(
          Effect.all({ match: pick(["a", "b", "a*", "*b", "*"]), rule: pick(Rule.literals) }),
          yield* below(5)
        )
        const level = yield* pick(["none", ...levels] as const)
        return policy({ autonomyLevel: level === "none" ? null : level, tools: rules })
      })
      let restricting = 0
      for (let round = 0; round < 20_000; round++) {
        const [before, after, other] = [yield* some, yield* some, yield* some]
        if (!onlyRestricts(before, after)) continue
        restricting++
        const isJob = yield* isLucky(50)
        const rulingOf = (changed: Policy) =>
          makeRuling(resolvePolicy(isJob ? { job: changed, agent: other } : { job: other, agent: changed }))
        const [old, now] = [rulingOf(before), rulingOf(after)]
        for (const name of ["a", "b", "ab", "c"]) {
          for (const { binding } of Object.values(tools)) {
            const message = JSON.stringify({ before, after, other, isJob, name })
            assert.isAtMost(freedom(now({ name, binding })), freedom(old({ name, binding })), message)
          }
        }
      }
      assert.isAbove(restricting, 500)
    }).pipe(Random.withSeed("policies"))
  )
})
