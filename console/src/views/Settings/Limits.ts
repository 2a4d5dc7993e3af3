import type { Budget, LimitName } from "../../../../src/Schemas/Budget.ts"

interface Limit {
  readonly name: LimitName
  readonly label: string
  readonly hint: string
}

export const limits: ReadonlyArray<Limit> = [
  {
    name: "monthlyUsd",
    label: "US dollars a month",
    hint: "A calendar month in UTC. Models without a known price are refused then."
  },
  { name: "monthlyTokens", label: "Tokens a month", hint: "Input and output together." },
  {
    name: "runUsd",
    label: "US dollars a run",
    hint: "Of a task or chat answer, all tries together."
  },
  { name: "runTokens", label: "Tokens a run", hint: "Of a task or chat answer, all tries together." }
]

/** The limits as they are typed: nothing is none. */
export const entered = (budget: Budget): Record<LimitName, string> => ({
  monthlyUsd: String(budget.monthlyUsd ?? ""),
  monthlyTokens: String(budget.monthlyTokens ?? ""),
  runUsd: String(budget.runUsd ?? ""),
  runTokens: String(budget.runTokens ?? "")
})

/** The limits that were typed, or a sentence: what is no number is never taken for no limit. */
export const toBudget = (texts: Readonly<Record<LimitName, string>>): Budget | string => {
  const limit = (name: LimitName) => (texts[name].trim() === "" ? null : Number(texts[name]))
  const wrong = limits.find(({ name }) => Number.isNaN(limit(name)))
  if (wrong !== undefined) return `${wrong.name}: must be a number`
  return {
    monthlyUsd: limit("monthlyUsd"),
    monthlyTokens: limit("monthlyTokens"),
    runUsd: limit("runUsd"),
    runTokens: limit("runTokens")
  }
}
