import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type Budget, noBudget, type PutBudget } from "../Schemas/Budget.ts"
import { type Forbidden, type NotFound, notFound, type Unavailable } from "../Schemas/Errors.ts"
import type { WorkspaceId } from "../Schemas/Ids.ts"
import type { User } from "../Schemas/User.ts"
import { audited } from "./Audited.ts"
import { BudgetRepo } from "./BudgetRepo.ts"
import { Signals } from "./Signals.ts"
import { Transaction } from "./Transaction.ts"
import { makeChecks } from "./Workspaces/Checks.ts"

/** What a workspace may spend on models (CONTRACT.md section 11). */
export class Budgets extends Context.Service<
  Budgets,
  {
    /** By any member. */
    readonly get: (user: User, id: WorkspaceId) => Effect.Effect<Budget, NotFound | Unavailable>
    /** By an owner; replaces the whole. Calls that wait ask again at once, and the next ones meet it. */
    readonly put: (
      user: User,
      id: WorkspaceId,
      input: PutBudget
    ) => Effect.Effect<Budget, Forbidden | NotFound | Unavailable>
  }
>()("agentd/Services/Budgets") {
  static readonly layer = Layer.effect(
    Budgets,
    Effect.gen(function* () {
      const repo = yield* BudgetRepo
      const signals = yield* Signals
      const transaction = yield* Transaction
      const checks = yield* makeChecks

      const put = Effect.fnUntraced(function* (user: User, id: WorkspaceId, budget: Budget) {
        yield* checks.requireOwner(user, id)
        if (!(yield* repo.put(id, budget).pipe(audited("budget.update", { workspaceId: id, id })))) {
          return yield* notFound("workspace")
        }
        return budget
      })

      return Budgets.of({
        get: Effect.fnUntraced(function* (user, id) {
          yield* checks.get(user, id)
          const found = yield* repo.find(id)
          return Option.isSome(found) ? found.value : yield* notFound("workspace")
        }),
        put: (user, id, input) =>
          Effect.tap(transaction.atomically(put(user, id, { ...noBudget, ...input })), () =>
            signals.publish({ type: "budget", workspaceId: id, what: "set" })
          )
      })
    })
  )
}
