import * as Schema from "effect/Schema"
import { costNanos, nanosPerUsd, type Pricing } from "./Pricing.ts"
import type { Usage } from "./Usage.ts"

const mostUsd = 1_000_000
const mostTokens = 1_000_000_000_000

const bounded = (most: number) =>
  Schema.makeFilter(
    (value: number) => (value >= 0 && value <= most ? undefined : `must be 0 to ${most}, or null`),
    { toJsonSchema: () => ({ minimum: 0, maximum: most }) }
  )
const usd = Schema.NullOr(Schema.Finite.check(bounded(mostUsd)))
const tokens = Schema.NullOr(Schema.Int.check(bounded(mostTokens)))

/**
 * What a workspace may spend on models (CONTRACT.md section 11): in a calendar month in UTC, and in one run or turn, all
 * its executions together. Null: no limit; 0: nothing may be asked.
 */
export const Budget = Schema.Struct({
  monthlyUsd: usd,
  monthlyTokens: tokens,
  runUsd: usd,
  runTokens: tokens
}).annotate({ identifier: "Budget" })
export type Budget = typeof Budget.Type

/** What is not named has no limit: the whole is replaced. */
export const PutBudget = Schema.Struct({
  monthlyUsd: Schema.optionalKey(usd),
  monthlyTokens: Schema.optionalKey(tokens),
  runUsd: Schema.optionalKey(usd),
  runTokens: Schema.optionalKey(tokens)
}).annotate({ identifier: "PutBudget" })
export type PutBudget = typeof PutBudget.Type

export const noBudget: Budget = { monthlyUsd: null, monthlyTokens: null, runUsd: null, runTokens: null }

export const isLimited = (budget: Budget): boolean => Object.values(budget).some((limit) => limit !== null)

export const LimitName = Schema.Literals(["monthlyUsd", "monthlyTokens", "runUsd", "runTokens"])
export type LimitName = typeof LimitName.Type

/** A limit that is reached, and its value as it was set. */
export const Reached = Schema.Struct({ limit: LimitName, value: Schema.Finite })
export type Reached = typeof Reached.Type

const unitOf = (limit: LimitName) => (limit.endsWith("Usd") ? "US dollars" : "tokens")

/** 403, and how a run or turn ends FAILED: the limit and its value are in the sentence. */
export class BudgetExceeded extends Schema.TaggedError<BudgetExceeded>()("BudgetExceeded", {
  error: Schema.String
}) {}

export const budgetExceeded = ({ limit, value }: Reached) =>
  new BudgetExceeded({
    error: limit.startsWith("run")
      ? `${limit}: this run has used up its budget of ${value} ${unitOf(limit)}`
      : `${limit}: the workspace has used up its budget of ${value} ${unitOf(limit)} for this month (UTC)`
  })

/** A limit in dollars can't hold what has no price: it would leak. */
export const unpriced = (model: string) =>
  new BudgetExceeded({
    error: `the workspace has a budget in US dollars, and the price of the model ${model} is not known: set pricing on its provider key`
  })

/** Tokens, and billionths of a US dollar. */
export const Spending = Schema.Struct({ tokens: Schema.Finite, costNanos: Schema.Finite })
export type Spending = typeof Spending.Type

export const nothingSpent: Spending = { tokens: 0, costNanos: 0 }

export const addSpending = (a: Spending, b: Spending): Spending => ({
  tokens: a.tokens + b.tokens,
  costNanos: a.costNanos + b.costNanos
})

/**
 * How a workspace stands in a month: what is booked, what calls may have cost of which nobody knows what came
 * (`lost`, at what they may have cost at most), and what those that are under way may cost at most.
 */
export const Standing = Schema.Struct({ used: Spending, lost: Spending, reserved: Spending })
export type Standing = typeof Standing.Type

/** The same in the answer to a caller. */
const Stand = Schema.Struct({
  used: Schema.Finite.annotate({ description: "Booked: what providers reported." }),
  reserved: Schema.Finite.annotate({ description: "What calls that are under way may cost at most." }),
  lost: Schema.Finite.annotate({
    description:
      "What calls may have cost at most that broke off without a word of it. Counts to the limit, not to GET /api/usage."
  }),
  limit: Schema.NullOr(Schema.Finite).annotate({ description: "Null: none." })
})
export const BudgetUsage = Schema.Struct({
  month: Schema.String.annotate({ description: "In UTC, as in 2026-11." }),
  monthlyUsd: Stand,
  monthlyTokens: Stand
}).annotate({ identifier: "BudgetUsage" })
export type BudgetUsage = typeof BudgetUsage.Type

export const monthOf = (at: Date): string => at.toISOString().slice(0, 7)

export const nanosOf = (amount: number): number => Math.round(amount * nanosPerUsd)

export const usdOf = (nanos: number): number => nanos / nanosPerUsd

export const budgetUsageOf = (
  month: string,
  { monthlyTokens, monthlyUsd }: Budget,
  { lost, reserved, used }: Standing
): BudgetUsage => ({
  month,
  monthlyUsd: {
    used: usdOf(used.costNanos),
    reserved: usdOf(reserved.costNanos),
    lost: usdOf(lost.costNanos),
    limit: monthlyUsd
  },
  monthlyTokens: { used: used.tokens, reserved: reserved.tokens, lost: lost.tokens, limit: monthlyTokens }
})

/** What a call may cost at most; `costNanos` is null where no price is known. */
export interface CallBound {
  readonly tokens: number
  readonly costNanos: number | null
}

/** What may come of asking whether a call may begin. */
export type Permission =
  | { readonly type: "none" | "reserved" | "waits" | "unpriced" | "lost" }
  | { readonly type: "refused"; readonly reached: Reached }

const spentOf = (limit: LimitName, { costNanos, tokens }: Spending): number =>
  limit.endsWith("Usd") ? costNanos : tokens

const amountOf = (limit: LimitName, value: number): number => (limit.endsWith("Usd") ? nanosOf(value) : value)

const reachedOf = (
  budget: Budget,
  limits: ReadonlyArray<LimitName>,
  spent: Spending
): Reached | undefined => {
  for (const limit of limits) {
    const value = budget[limit]
    if (value !== null && spentOf(limit, spent) >= amountOf(limit, value)) return { limit, value }
  }
  return undefined
}

/** The limit of the month that what is booked alone has reached. */
export const reachedOfMonth = (budget: Budget, { lost, used }: Standing): Reached | undefined =>
  reachedOf(budget, ["monthlyUsd", "monthlyTokens"], addSpending(used, lost))

/**
 * Whether a call may begin: what is booked and what is under way are below each limit, its own cost not counted, so that
 * the sum goes over by one call at most. What is booked alone refuses it; else it waits for those under way. A run
 * has one call at a time. `run` is what the run has spent.
 */
export const permissionOf = (
  budget: Budget,
  bound: CallBound,
  run: Spending,
  standing: Standing
): Permission => {
  if (!isLimited(budget)) return { type: "none" }
  if (bound.costNanos === null && (budget.monthlyUsd ?? budget.runUsd) !== null) return { type: "unpriced" }
  const reached = reachedOf(budget, ["runUsd", "runTokens"], run) ?? reachedOfMonth(budget, standing)
  if (reached !== undefined) return { type: "refused", reached }
  const { lost, reserved, used } = standing
  const all = { used: addSpending(used, reserved), lost, reserved }
  return { type: reachedOfMonth(budget, all) === undefined ? "reserved" : "waits" }
}

/** How many tokens an answer may have where the provider key says nothing and a budget has to hold. */
export const usualOutputTokens = 8_192

/** What a provider puts around a request, its messages and its tools in its own words; more than any of them does. */
const requestTokens = 1_024
const messageTokens = 16
const toolTokens = 64

/**
 * What a call may cost at most. No tokenizer makes more tokens than a text has bytes in UTF-8: those of the whole
 * request as JSON are counted, and an answer is as long as the provider is told that it may be.
 */
export const boundOf = (
  request: {
    readonly system: string | null
    readonly messages: ReadonlyArray<unknown>
    readonly tools: ReadonlyArray<unknown>
    readonly format?: unknown
  },
  outputTokens: number,
  pricing: Pricing | null
): CallBound => {
  const inputTokens =
    requestTokens +
    messageTokens * request.messages.length +
    toolTokens * request.tools.length +
    bytesOf(request.system) +
    // The provider may be told of it, and the model as well.
    2 * bytesOf(request.format ?? null) +
    request.messages.reduce<number>((sum, message) => sum + bytesOf(message), 0) +
    request.tools.reduce<number>((sum, tool) => sum + bytesOf(tool), 0)
  return { tokens: inputTokens + outputTokens, costNanos: mostNanos({ inputTokens, outputTokens }, pricing) }
}

/** Also where cached tokens cost more than others. */
const mostNanos = (usage: Usage, pricing: Pricing | null): number | null =>
  pricing === null
    ? null
    : Math.max(
        costNanos(usage, pricing),
        costNanos({ ...usage, cachedInputTokens: usage.inputTokens }, pricing)
      )

const utf8 = new TextEncoder()

const bytesOf = (value: unknown): number =>
  value === null ? 0 : utf8.encode(typeof value === "string" ? value : JSON.stringify(value)).byteLength
