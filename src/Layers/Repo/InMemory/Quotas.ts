import * as Effect from "effect/Effect"
import type { PlanLimitExceeded } from "../../../Schemas/Connector.ts"
import { type ByPlan, isFull, ofEach, type Quota, quotaExceeded } from "../../../Schemas/Quotas.ts"
import { isUsable } from "../../../Schemas/Token.ts"
import type { Plan } from "../../../Schemas/Workspace.ts"
import type { Tables } from "./Store.ts"

/** By entry, which is never changed in place. */
const known = new WeakMap<object, number>()

/** How many bytes the value of an entry is in UTF-8. */
export const bytesOf = (entry: { readonly value: string }): number => {
  const bytes = known.get(entry) ?? Buffer.byteLength(entry.value)
  known.set(entry, bytes)
  return bytes
}

const ownedBy = ({ members }: Tables, userId: string) =>
  Array.from(members.values()).filter((member) => member.userId === userId && member.role === "owner")

/** The best plan of the workspaces that a user owns. */
export const planOf = (tables: Tables, userId: string): Plan =>
  ownedBy(tables, userId).some(({ workspaceId }) => tables.workspaces.get(workspaceId)?.plan === "pro")
    ? "pro"
    : "free"

/** How much there is of each, in a workspace and of a user. */
export const countAll = (tables: Tables, workspaceId: string, userId: string, now: Date) => {
  const within = <A extends { readonly workspaceId: string }>(table: ReadonlyMap<string, A>) =>
    Array.from(table.values()).filter((row) => row.workspaceId === workspaceId)
  const entries = within(tables.memoryEntries)
  const waiting = within(tables.runs).filter(({ status }) => status === "PENDING")
  const turns = waiting.filter(({ turn }) => turn !== null).length
  const counts: Readonly<Record<Quota, number>> = {
    agents: within(tables.agents).length,
    projects: within(tables.projects).length,
    cronJobs: within(tables.cronJobs).length,
    providerKeys: within(tables.providerKeys).length,
    connectors: within(tables.connectors).length,
    webhooks: within(tables.webhooks).length,
    memoryEntries: entries.length,
    memoryBytes: entries.reduce((sum, entry) => sum + bytesOf(entry), 0),
    pendingRuns: Math.max(turns, waiting.length - turns),
    workspacesOwned: Array.from(tables.makers.values()).filter((maker) => maker === userId).length,
    tokens: Array.from(tables.tokens.values()).filter(
      (token) => token.userId === userId && isUsable(token, now)
    ).length
  }
  return ofEach((quota) => counts[quota])
}

/** Writes unless there is no room for so many more. */
export const unlessFull = <A>(
  quota: Quota,
  {
    more = 1,
    most,
    plan,
    used
  }: {
    readonly used: number
    readonly more?: number
    readonly plan: Plan
    readonly most: ByPlan | undefined
  },
  write: () => A
): Effect.Effect<A, PlanLimitExceeded> =>
  Effect.suspend(() =>
    more > 0 && isFull(used + more - 1, plan, most)
      ? Effect.fail(quotaExceeded(quota, plan, most?.[plan] ?? null))
      : Effect.sync(write)
  )

/** The same for one more of what a workspace has. */
export const unlessFullIn = <A>(
  tables: Tables,
  quota: Quota,
  workspaceId: string,
  most: ByPlan | undefined,
  write: () => A
): Effect.Effect<A, PlanLimitExceeded> => {
  const used = () => countAll(tables, workspaceId, "", new Date(0))[quota]
  const plan = tables.workspaces.get(workspaceId)?.plan ?? "free"
  return Effect.suspend(() => unlessFull(quota, { used: most === undefined ? 0 : used(), plan, most }, write))
}
