import { PlanLimitExceeded } from "./Connector.ts"
import type { Plan } from "./Workspace.ts"

/** A number for each plan. */
export type ByPlan = Readonly<Record<Plan, number>>

/** How much of each a workspace may have, by its plan (CONTRACT.md section 10). */
export const quotas = {
  /** Tasks that wait to begin, and as many chat turns. */
  pendingRuns: { free: 1_000, pro: 100_000 }
} as const satisfies Readonly<Record<string, ByPlan>>

export type Quota = keyof typeof quotas

/** 403: names the quota and its value. */
export const quotaExceeded = (quota: Quota, plan: Plan, most: number) =>
  new PlanLimitExceeded({ error: `${quota}: the ${plan} plan allows at most ${most}` })
