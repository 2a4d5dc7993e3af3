import type { AutonomyLevel } from "../../../src/Schemas/Autonomy.ts"
import { defaultAutonomy } from "../../../src/Schemas/Autonomy.ts"
import type { Connector } from "../../../src/Schemas/Connector.ts"
import { makeGlob } from "../../../src/Schemas/Glob.ts"
import type { ConnectorId } from "../../../src/Schemas/Ids.ts"
import {
  makeRuling,
  type Policy,
  type PutPolicy,
  type Rule,
  type ToolRule
} from "../../../src/Schemas/Policy.ts"
import { builtinNames, prefixOf } from "../../../src/Schemas/ToolName.ts"

/** A rule in a form, which keeps its place in the page when others come or go. */
export interface DraftRule extends ToolRule {
  readonly key: number
}

/** A policy as the fields of its form hold it: an empty text says nothing. */
export interface Draft {
  readonly autonomyLevel: AutonomyLevel | ""
  /** Null: all that there are. */
  readonly connectorIds: ReadonlyArray<string> | null
  readonly tools: ReadonlyArray<DraftRule>
  readonly maxSteps: string
  readonly maxSeconds: string
}

const numberText = (value: number | null): string => (value === null ? "" : String(value))

export const draftOf = (policy: Policy): Draft => ({
  autonomyLevel: policy.autonomyLevel ?? "",
  connectorIds: policy.connectorIds,
  tools: policy.tools.map((rule, key) => ({ ...rule, key })),
  maxSteps: numberText(policy.maxSteps),
  maxSeconds: numberText(policy.maxSeconds)
})

const wholeNumber = (text: string): number | null | undefined => {
  if (text.trim() === "") return null
  return /^\d{1,9}$/u.test(text.trim()) ? Number(text) : undefined
}

/** Why it can't be sent as it is: a number that is none. All else is judged by the service. */
export const draftProblem = (draft: Draft): string | undefined => {
  const name = (["maxSteps", "maxSeconds"] as const).find((each) => wholeNumber(draft[each]) === undefined)
  return name === undefined ? undefined : `${name}: must be a whole number from 1 on`
}

/** The whole policy, as it is sent. */
export const putOf = (draft: Draft): PutPolicy => ({
  autonomyLevel: draft.autonomyLevel === "" ? null : draft.autonomyLevel,
  connectorIds: draft.connectorIds,
  tools: draft.tools.map(({ match, rule }) => ({ match: match.trim(), rule })),
  maxSteps: wholeNumber(draft.maxSteps) ?? null,
  maxSeconds: wholeNumber(draft.maxSeconds) ?? null
})

export const addRule = (rules: ReadonlyArray<DraftRule>): ReadonlyArray<DraftRule> => [
  ...rules,
  { key: 1 + Math.max(-1, ...rules.map(({ key }) => key)), match: "", rule: "ask" }
]

/** A rule changes places with the one before it or behind it: of those that match, the first counts. */
export const moveRule = (
  rules: ReadonlyArray<DraftRule>,
  index: number,
  by: -1 | 1
): ReadonlyArray<DraftRule> => {
  const [one, other] = [rules[index], rules[index + by]]
  if (one === undefined || other === undefined) return rules
  return rules.map((rule, at) => (at === index ? other : at === index + by ? one : rule))
}

/** A tool that is known here, by the name that a model sees. */
export interface KnownTool {
  readonly name: string
  /** Null: built in. */
  readonly of: {
    readonly connector: Pick<Connector, "id" | "providerId" | "providerName" | "type">
    readonly originalName: string
    readonly readOnly: boolean
  } | null
}

export const builtinTools: ReadonlyArray<KnownTool> = builtinNames.map((name) => ({ name, of: null }))

/** What each tool may do under these rules, if nothing else says anything. */
export const rulings = (
  { autonomyLevel, connectorIds, tools }: Pick<Draft, "autonomyLevel" | "connectorIds" | "tools">,
  known: ReadonlyArray<KnownTool>
): ReadonlyArray<readonly [tool: string, rule: Rule]> => {
  const rule = makeRuling({
    autonomyLevel: autonomyLevel === "" ? defaultAutonomy : autonomyLevel,
    policy: {
      connectorIds,
      tools: tools.filter(({ match }) => match.trim() !== ""),
      maxSteps: null,
      maxSeconds: null
    }
  })
  return known.map(({ name, of }) => {
    const binding =
      of === null
        ? null
        : {
            connectorId: of.connector.id satisfies ConnectorId,
            connectorName: prefixOf(of.connector),
            place: "",
            tool: of.originalName,
            readOnly: of.readOnly
          }
    return [name, rule({ name, binding })] as const
  })
}

/** How many of the known tools a match is of. */
export const matches = (match: string, known: ReadonlyArray<KnownTool>): ReadonlyArray<string> => {
  const isMatch = makeGlob(match.trim())
  return known.map(({ name }) => name).filter(isMatch)
}
