import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { addSpending, monthOf, noBudget, nothingSpent, permissionOf } from "../../../Schemas/Budget.ts"
import { BudgetRepo } from "../../../Services/BudgetRepo.ts"
import { budgetOf, goesOn, loseBudget, reachedIn, reservationKey, standingOf } from "./Budgets.ts"
import { moment } from "./RunRepo/Moment.ts"
import { isLatest, Store } from "./Store.ts"

export const layer = Layer.effect(
  BudgetRepo,
  Effect.map(Store, ({ guard, tables }) => {
    const { budgets, reservations, workspaces } = tables
    return guard(
      BudgetRepo.of({
        find: (id) =>
          Effect.sync(() => (workspaces.has(id) ? Option.some(budgetOf(tables, id)) : Option.none())),
        put: (id, budget) =>
          Effect.sync(() => {
            if (!workspaces.has(id)) return false
            budgets.set(id, { ...noBudget, ...budget })
            return true
          }),
        standing: (id) =>
          Effect.map(moment, (at) => ({ month: monthOf(at.at), standing: standingOf(tables, id, at) })),
        reached: (id) => Effect.map(moment, (at) => Option.fromUndefinedOr(reachedIn(tables, id, at))),
        reserve: ({ bound, execution, run, workspaceId }) =>
          Effect.map(moment, (at) => {
            const budget = budgetOf(tables, workspaceId)
            const key = reservationKey(execution)
            const none = permissionOf(budget, bound, run, standingOf(tables, workspaceId, at))
            if (none.type === "none") return none
            if (!isLatest(tables, execution)) return { type: "lost" }
            reservations.delete(key)
            const broken = Array.from(reservations.values(), ({ held, runId }) =>
              runId === execution.id ? held : nothingSpent
            )
            const spent = broken.reduce(addSpending, run)
            const permission = permissionOf(budget, bound, spent, standingOf(tables, workspaceId, at))
            if (permission.type === "refused" && permission.reached.limit.startsWith("monthly"))
              tables.refusedBudgets.set(workspaceId, true)
            if (permission.type === "reserved") {
              const { epoch, id: runId } = execution
              const held = { tokens: bound.tokens, costNanos: bound.costNanos ?? 0 }
              reservations.set(key, { workspaceId, runId, epoch, held, madeAt: at.millis })
            }
            return permission
          }),
        settle: (execution, how) =>
          Effect.map(moment, ({ at }) => {
            const key = reservationKey(execution)
            const found = reservations.get(key)
            reservations.delete(key)
            if (found !== undefined && how === "lost") loseBudget(tables, found, at)
          }),
        bury: (limit) =>
          Effect.map(moment, ({ at, millis }) => {
            const dead = Array.from(reservations)
              .filter(([, each]) => each.madeAt < millis - 5_000 && !goesOn(tables, each))
              .slice(0, limit)
            for (const [key, each] of dead) {
              reservations.delete(key)
              loseBudget(tables, each, at)
            }
            return dead.length
          })
      })
    )
  })
)
