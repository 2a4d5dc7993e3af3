import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { isLimited } from "../../../Schemas/Budget.ts"
import { ProviderKeyRepo } from "../../../Services/ProviderKeyRepo.ts"
import { budgetOf } from "./Budgets.ts"
import { inOrder } from "./Order.ts"
import { unlessFullIn } from "./Quotas.ts"
import { Store } from "./Store.ts"

export const layer = Layer.effect(
  ProviderKeyRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { agents, providerKeys, runs, workspaces } = tables
    const list = (workspaceId: string) =>
      Array.from(providerKeys.values())
        .filter((key) => key.workspaceId === workspaceId)
        .sort(inOrder("createdAt"))
    const usable = (workspaceId: string) => {
      const usual = workspaces.get(workspaceId)?.defaultProviderKeyId
      return list(workspaceId).map((key) => ({ ...key, isDefault: key.id === usual }))
    }
    return guard(
      ProviderKeyRepo.of({
        insert: (key, most) =>
          unlessFullIn(
            tables,
            "providerKeys",
            key.workspaceId,
            most,
            () => void providerKeys.set(key.id, key)
          ),
        list: (workspaceId) => Effect.sync(() => list(workspaceId)),
        usable: (workspaceId) => Effect.sync(() => usable(workspaceId)),
        forModels: (workspaceId) =>
          Effect.sync(() => ({
            keys: usable(workspaceId),
            hasBudget: isLimited(budgetOf(tables, workspaceId))
          })),
        update: (id, { pricing }) =>
          Effect.sync(() => {
            const key = providerKeys.get(id)
            if (key === undefined) return false
            providerKeys.set(id, { ...key, pricing })
            return true
          }),
        remove: (id) =>
          Effect.sync(() => {
            for (const agent of agents.values()) {
              if (agent.providerKeyId === id) agents.set(agent.id, { ...agent, providerKeyId: null })
            }
            for (const run of runs.values()) {
              if (run.providerKeyId === id) runs.set(run.id, { ...run, providerKeyId: null })
            }
            for (const workspace of workspaces.values()) {
              if (workspace.defaultProviderKeyId === id) {
                workspaces.set(workspace.id, { ...workspace, defaultProviderKeyId: null })
              }
            }
            return providerKeys.delete(id)
          }),
        find: (id) => Effect.sync(() => Option.fromNullishOr(providerKeys.get(id)))
      })
    )
  })
)
