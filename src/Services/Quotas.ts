import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { budgetUsageOf } from "../Schemas/Budget.ts"
import { type NotFound, notFound, type Unavailable } from "../Schemas/Errors.ts"
import type { WorkspaceId } from "../Schemas/Ids.ts"
import { usageOf, type WorkspaceUsage } from "../Schemas/QuotaUsage.ts"
import type { User } from "../Schemas/User.ts"
import { roleOf } from "./Access.ts"
import { BudgetRepo } from "./BudgetRepo.ts"
import { now } from "./CurrentTime.ts"
import { QuotaRepo } from "./QuotaRepo.ts"
import { Settings } from "./Settings.ts"
import { WorkspaceRepo } from "./WorkspaceRepo.ts"

/** How much a caller may still make (CONTRACT.md section 10), and how its budget stands. */
export class Quotas extends Context.Service<
  Quotas,
  {
    /** Of a workspace, by any member; what users have is that of the caller. */
    readonly usage: (user: User, id: WorkspaceId) => Effect.Effect<WorkspaceUsage, NotFound | Unavailable>
  }
>()("agentd/Services/Quotas") {
  static readonly layer = Layer.effect(
    Quotas,
    Effect.gen(function* () {
      const budgets = yield* BudgetRepo
      const repo = yield* QuotaRepo
      const { quotas } = yield* Settings
      const workspaces = yield* WorkspaceRepo
      return Quotas.of({
        usage: Effect.fnUntraced(function* (user, id) {
          const role = yield* roleOf(workspaces, id, user.id)
          const counted = Option.isSome(role) ? yield* repo.count(id, user.id, yield* now) : Option.none()
          const budget = Option.isSome(counted) ? yield* budgets.find(id) : Option.none()
          if (Option.isNone(counted) || Option.isNone(budget)) return yield* notFound("workspace")
          const { month, standing } = yield* budgets.standing(id)
          return {
            ...usageOf(counted.value, quotas),
            budget: budgetUsageOf(month, budget.value, standing)
          }
        })
      })
    })
  )
}
