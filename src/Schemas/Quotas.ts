import { PlanLimitExceeded } from "./Connector.ts"
import type { Plan } from "./Workspace.ts"

/** A number for each plan; null: no limit. */
export type ByPlan = Readonly<Record<Plan, number | null>>

/** What a workspace has, by its plan (CONTRACT.md section 10). */
const ofWorkspace = {
  agents: { free: 1_000, pro: 10_000 },
  projects: { free: 100, pro: 1_000 },
  cronJobs: { free: 100, pro: 10_000 },
  providerKeys: { free: 20, pro: 200 },
  /** Stored, of whatever status; of those that are ACTIVE `activeConnectorLimit` speaks. */
  connectors: { free: 50, pro: 1_000 },
  webhooks: { free: 10, pro: 100 },
  memoryEntries: { free: 10_000, pro: 100_000 },
  /** Of the values, in UTF-8. */
  memoryBytes: { free: 64 * 1024 ** 2, pro: 1024 ** 3 },
  /** Tasks that wait to begin, and as many chat turns. */
  pendingRuns: { free: 1_000, pro: 100_000 }
} as const satisfies Readonly<Record<string, ByPlan>>

/** What a user has, by the best plan of the workspaces that the user owns; without one, `free`. */
const ofUser = {
  workspacesOwned: { free: 10, pro: 1_000 },
  /** Those that work, browser sessions among them. */
  tokens: { free: 100, pro: 1_000 }
} as const satisfies Readonly<Record<string, ByPlan>>

/** How much there may be of each, unless `AGENTD_QUOTAS` says otherwise. A new one is a line here. */
export const quotas = { ...ofWorkspace, ...ofUser }

export type Quota = keyof typeof quotas
export type Quotas = Readonly<Record<Quota, ByPlan>>

export const names = Object.keys(quotas) as ReadonlyArray<Quota>

export const isOfUser = (quota: Quota): boolean => Object.hasOwn(ofUser, quota)

export const ofEach = <A>(of: (quota: Quota) => A) =>
  Object.fromEntries(names.map((quota) => [quota, of(quota)])) as Record<Quota, A>

/** 403: names the quota and its value. */
export const quotaExceeded = (quota: Quota, plan: Plan, most: number | null) =>
  new PlanLimitExceeded({ error: `${quota}: the ${plan} plan allows at most ${most}` })

/** Whether one more would be too much. */
export const isFull = (used: number, plan: Plan, most: ByPlan | undefined): boolean =>
  used >= (most?.[plan] ?? Number.POSITIVE_INFINITY)
