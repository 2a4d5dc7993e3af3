import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { QuotaRepo } from "../../../Services/QuotaRepo.ts"
import { countAll, planOf } from "./Quotas.ts"
import { Store } from "./Store.ts"

export const layer = Layer.effect(
  QuotaRepo,
  Effect.map(Store, ({ guard, tables }) =>
    guard(
      QuotaRepo.of({
        count: (workspaceId, userId, now) =>
          Effect.sync(() =>
            Option.map(Option.fromNullishOr(tables.workspaces.get(workspaceId)), ({ plan }) => ({
              plan,
              userPlan: planOf(tables, userId),
              used: countAll(tables, workspaceId, userId, now)
            }))
          )
      })
    )
  )
)
