import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { addUsage, nothingSpent } from "../../../Schemas/Usage.ts"
import { otherKey, type UsageGroup, type UsageSum } from "../../../Schemas/UsageReport.ts"
import { now } from "../../../Services/CurrentTime.ts"
import { UsageRepo } from "../../../Services/UsageRepo.ts"
import { type CountedStep, Store } from "./Store.ts"

const keyOf = (
  { agentId, answeredBy, at, cronJobId, kind }: CountedStep,
  groupBy: UsageGroup
): string | null => {
  switch (groupBy) {
    case "day":
      return at.toISOString().slice(0, 10)
    case "agent":
      return agentId
    case "model":
      return answeredBy === null ? null : `${answeredBy.provider}/${answeredBy.model}`
    case "cronJob":
      return cronJobId
    case "kind":
      return kind
  }
}

const nothing: Omit<UsageSum, "key"> = { ...nothingSpent, costNanos: 0, runs: 0, turns: 0, unknownCalls: 0 }

const add = (sum: UsageSum, { isFirst, kind, spent }: CountedStep): UsageSum => ({
  ...sum,
  ...addUsage(sum, spent),
  cachedInputTokens: sum.cachedInputTokens + spent.cachedInputTokens,
  modelCalls: sum.modelCalls + spent.modelCalls,
  toolCalls: sum.toolCalls + spent.toolCalls,
  costNanos: sum.costNanos + (spent.costNanos ?? 0),
  unknownCalls: sum.unknownCalls + Number(spent.costNanos === null),
  runs: sum.runs + Number(isFirst && kind === "task"),
  turns: sum.turns + Number(isFirst && kind === "turn")
})

const merge = (a: UsageSum, b: UsageSum): UsageSum => ({
  ...a,
  ...Object.fromEntries(
    (Object.keys(nothing) as ReadonlyArray<keyof typeof nothing>).map((name) => [name, a[name] + b[name]])
  )
})

const byKey = ({ key: a }: UsageSum, { key: b }: UsageSum): number =>
  a === b ? 0 : a === null ? 1 : b === null || a < b ? -1 : 1

const tokensOf = ({ inputTokens, outputTokens }: UsageSum): number => inputTokens + outputTokens

export const layer = Layer.effect(
  UsageRepo,
  Effect.map(Store, ({ guard, tables }) =>
    guard(
      UsageRepo.of({
        sums: ({ from, groupBy, most, to, workspaceId }) =>
          Effect.sync(() => {
            const sums = new Map<string | null, UsageSum>()
            for (const step of tables.usage.values()) {
              const day = step.at.toISOString().slice(0, 10)
              if (step.workspaceId !== workspaceId || day < from || day >= to) continue
              const key = keyOf(step, groupBy)
              sums.set(key, add(sums.get(key) ?? { key, ...nothing }, step))
            }
            const ordered = Array.from(sums.values()).sort((a, b) =>
              groupBy === "day" ? byKey(a, b) : tokensOf(b) - tokensOf(a) || byKey(a, b)
            )
            const [first, ...others] = ordered.slice(most)
            return first === undefined
              ? ordered
              : [...ordered.slice(0, most), others.reduce(merge, { ...first, key: otherKey })]
          }),
        booked: (workspaceId) =>
          Effect.map(now, (at) => {
            const month = at.toISOString().slice(0, 7)
            let booked = { tokens: 0, costNanos: 0, unknownCalls: 0 }
            for (const step of tables.usage.values()) {
              if (step.workspaceId !== workspaceId || step.at.toISOString().slice(0, 7) !== month) continue
              const { costNanos, inputTokens, outputTokens } = step.spent
              booked = {
                tokens: booked.tokens + inputTokens + outputTokens,
                costNanos: booked.costNanos + (costNanos ?? 0),
                unknownCalls: booked.unknownCalls + Number(costNanos === null)
              }
            }
            return booked
          }),
        ofRun: (id) => {
          const status = tables.runs.get(id)?.status
          const isCounted = status === "COMPLETED" || status === "FAILED"
          return Effect.sync(() => Option.fromNullishOr(isCounted ? tables.spent.get(id) : undefined))
        },
        // All is looked through each time.
        fold: Effect.succeed(0)
      })
    )
  )
)
