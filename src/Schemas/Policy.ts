import * as Schema from "effect/Schema"
import { AutonomyLevel, defaultAutonomy, isAtMost, needsApproval } from "./Autonomy.ts"
import { isWithin, makeGlob } from "./Glob.ts"
import { text } from "./Text.ts"
import type { ToolBinding, ToolPlace } from "./ToolBinding.ts"
import { possibleNames } from "./ToolName.ts"

/** Whether a tool is called without asking, only after people were asked, or never, nor shown. */
export const Rule = Schema.Literals(["allow", "ask", "deny"])
export type Rule = typeof Rule.Type

/** `match` is a glob over names of tools: `*` is any text, every other character is itself. */
export const ToolRule = Schema.Struct({
  match: text(1, 200).annotate({
    description: "The name of a tool, in which `*` is any text; every other character is itself."
  }),
  rule: Rule
}).annotate({ identifier: "ToolRule" })
export type ToolRule = typeof ToolRule.Type

const most = 100

const atMost = <T>(what: string) =>
  Schema.makeFilter(
    (items: ReadonlyArray<T>) => (items.length <= most ? undefined : `must be at most ${most} ${what}`),
    { toJsonSchema: () => ({ maxItems: most }) }
  )

const positive = Schema.Int.check(
  Schema.makeFilter((value: number) => (value >= 1 ? undefined : "must be a whole number from 1 on"), {
    toJsonSchema: () => ({ minimum: 1 })
  })
)

/** What the work of an agent, or of a cron job, may do (CONTRACT.md section 11). What is null says nothing. */
export const Policy = Schema.Struct({
  autonomyLevel: Schema.NullOr(AutonomyLevel),
  connectorIds: Schema.NullOr(Schema.Array(Schema.String)),
  tools: Schema.Array(ToolRule),
  maxSteps: Schema.NullOr(Schema.Int),
  maxSeconds: Schema.NullOr(Schema.Int)
}).annotate({ identifier: "Policy" })
export type Policy = typeof Policy.Type

/** A policy as it is sent, the whole of it: what is absent is unset. */
export const PutPolicy = Schema.Struct({
  autonomyLevel: Schema.optionalKey(Schema.NullOr(AutonomyLevel)),
  connectorIds: Schema.optionalKey(Schema.NullOr(Schema.Array(text(1, 100)).check(atMost("ids")))),
  tools: Schema.optionalKey(Schema.Array(ToolRule).check(atMost("rules"))),
  maxSteps: Schema.optionalKey(Schema.NullOr(positive)),
  maxSeconds: Schema.optionalKey(Schema.NullOr(positive))
}).annotate({ identifier: "PutPolicy" })
export type PutPolicy = typeof PutPolicy.Type

export const unset: Policy = {
  autonomyLevel: null,
  connectorIds: null,
  tools: [],
  maxSteps: null,
  maxSeconds: null
}

/** As it is stored; null says nothing at all. */
export const policyOf = (input: PutPolicy): Policy | null => {
  const { connectorIds = null } = input
  const policy = {
    ...unset,
    ...input,
    connectorIds: connectorIds === null ? null : Array.from(new Set(connectorIds))
  }
  const { tools, ...rest } = policy
  return tools.length === 0 && Object.values(rest).every((value) => value === null) ? null : policy
}

/** What is over the bounds of the service, which are the most that any run has; undefined: nothing. */
export const overBounds = (
  policy: Policy | null,
  bounds: { readonly maxSteps: number; readonly maxSeconds: number }
): string | undefined => {
  const over = (["maxSteps", "maxSeconds"] as const).find((name) => (policy?.[name] ?? 0) > bounds[name])
  return over && `${over}: must be a whole number from 1 to ${bounds[over]}`
}

/** What is kept of policies with a run, beside its level of autonomy; rules of its job stand before those of its agent. */
export const RunPolicy = Schema.Struct({
  connectorIds: Schema.NullOr(Schema.Array(Schema.String)),
  tools: Schema.Array(ToolRule),
  maxSteps: Schema.NullOr(Schema.Int),
  maxSeconds: Schema.NullOr(Schema.Int)
})
export type RunPolicy = typeof RunPolicy.Type

/**
 * What a run takes from whoever sends it, from its job and from its agent when it is made (CONTRACT.md section 11): the
 * one place where this is decided. Null: no policy says anything, and it is as if there were none.
 */
export const resolvePolicy = (given: {
  readonly own?: {
    readonly autonomyLevel?: AutonomyLevel | undefined
    readonly connectorIds?: ReadonlyArray<string> | undefined
  }
  readonly job?: Policy | null
  readonly agent: Policy | null
}): {
  readonly autonomyLevel: AutonomyLevel
  readonly connectorIds: ReadonlyArray<string> | null
  readonly policy: RunPolicy | null
} => {
  const { agent, job = null, own = {} } = given
  const set = [job, agent].filter((policy) => policy !== null)
  const connectorIds = common(set.map((policy) => policy.connectorIds))
  return {
    autonomyLevel: own.autonomyLevel ?? job?.autonomyLevel ?? agent?.autonomyLevel ?? defaultAutonomy,
    // What it names it waits for; of that, what it may not have is none of it.
    connectorIds: own.connectorIds === undefined ? null : common([own.connectorIds, connectorIds]),
    policy:
      set.length === 0
        ? null
        : {
            connectorIds,
            tools: set.flatMap(({ tools }) => tools),
            maxSteps: least(set.map(({ maxSteps }) => maxSteps)),
            maxSeconds: least(set.map(({ maxSeconds }) => maxSeconds))
          }
  }
}

const common = (lists: ReadonlyArray<ReadonlyArray<string> | null>): ReadonlyArray<string> | null => {
  const [first, ...others] = lists.filter((list) => list !== null)
  return first === undefined ? null : first.filter((id) => others.every((other) => other.includes(id)))
}

const least = (values: ReadonlyArray<number | null>): number | null => {
  const set = values.filter((value) => value !== null)
  return set.length === 0 ? null : Math.min(...set)
}

/** A bound of the service, and what a policy makes of it: never more. */
export const boundOf = (service: number, own: number | null | undefined): number =>
  Math.min(service, own ?? service)

/** A tool by the name under which the model is shown it, and what it is; null: a built-in one. */
export interface JudgedTool {
  readonly name: string
  readonly binding: (ToolPlace & Partial<Pick<ToolBinding, "readOnly">>) | null
}

/**
 * What a run may do with a tool, the same from its beginning to its end. Of the rules that match, a `deny` anywhere
 * wins, else the first one, else the level of autonomy decides. A rule is of a tool by each name that it may be shown
 * under, so that it makes no difference which other tools there are. A connector that the run may not have is denied
 * with all its tools.
 */
export const makeRuling = ({
  autonomyLevel,
  policy
}: {
  readonly autonomyLevel: AutonomyLevel
  readonly policy: RunPolicy | null
}): ((tool: JudgedTool) => Rule) => {
  const rules = (policy?.tools ?? []).map(({ match, rule }) => ({ rule, isMatch: makeGlob(match) }))
  const mayHave = policy?.connectorIds ?? null
  return ({ binding, name }) => {
    if (binding !== null && mayHave?.includes(binding.connectorId) === false) return "deny"
    let first: Rule | undefined
    if (rules.length > 0) {
      const names = namesOf(name, binding)
      for (const { isMatch, rule } of rules) {
        // Behind the first one that matches only a deny counts.
        if ((first !== undefined && rule !== "deny") || !names.some(isMatch)) continue
        if (rule === "deny") return "deny"
        first = rule
      }
    }
    const level = binding === null ? null : { readOnly: binding.readOnly === true }
    return first ?? (needsApproval(autonomyLevel, level) ? "ask" : "allow")
  }
}

const namesOf = (name: string, binding: JudgedTool["binding"]): ReadonlyArray<string> =>
  binding === null
    ? [name]
    : [...new Set([name, ...possibleNames({ ...binding, prefix: binding.prefix ?? binding.connectorName })])]

/**
 * Whether a policy lets nothing be done without people, and with nothing, that the one before did not: what a member may
 * change. Whatever the other policies of a run say: false also where it can't be told.
 */
export const onlyRestricts = (before: Policy | null, after: Policy | null): boolean => {
  const [old, now] = [before ?? unset, after ?? unset]
  return (
    isLowered(old.autonomyLevel, now.autonomyLevel) &&
    isPart(old.connectorIds, now.connectorIds) &&
    isLess(old.maxSteps, now.maxSteps) &&
    isLess(old.maxSeconds, now.maxSeconds) &&
    areStricter(old.tools, now.tools)
  )
}

/** Where nothing was said, somebody else said it, and that may have been any level. */
const isLowered = (before: AutonomyLevel | null, after: AutonomyLevel | null): boolean =>
  before === after || (after !== null && isAtMost(after, before ?? "supervised"))

const isPart = (before: ReadonlyArray<string> | null, after: ReadonlyArray<string> | null): boolean =>
  before === null || (after?.every((id) => before.includes(id)) ?? false)

const isLess = (before: number | null, after: number | null): boolean =>
  before === null || (after !== null && after <= before)

/**
 * What was denied still is. What was asked about still is, or is denied. And each rule that allows is part of one that
 * did so before, with all that was asked about in front of that in front of it now, too. Nothing else lets a tool be
 * freer: what no rule matches any more was allowed, which is as free as it gets.
 */
const areStricter = (before: ReadonlyArray<ToolRule>, after: ReadonlyArray<ToolRule>): boolean => {
  const isHeld = ({ match, rule }: ToolRule, until: number): boolean =>
    after.some(
      (now, index) =>
        (now.rule === "deny" || (now.rule === rule && index < until)) && isWithin(match, now.match)
    )
  return (
    before.every((old) => old.rule === "allow" || isHeld(old, after.length)) &&
    after.every(
      (now, place) =>
        now.rule !== "allow" ||
        before.some(
          (old, index) =>
            old.rule === "allow" &&
            isWithin(now.match, old.match) &&
            before.slice(0, index).every((first) => first.rule !== "ask" || isHeld(first, place))
        )
    )
  )
}
