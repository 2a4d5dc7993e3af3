import * as Schema from "effect/Schema"
import { BudgetUsage } from "./Budget.ts"
import { isOfUser, ofEach, type Quotas } from "./Quotas.ts"
import { Plan } from "./Workspace.ts"

const QuotaUsage = Schema.Struct({
  used: Schema.Int.annotate({ description: "May be over a limit that was lowered." }),
  limit: Schema.NullOr(Schema.Int).annotate({ description: "Null: none." })
}).annotate({ identifier: "QuotaUsage" })

/** How much there is of each, and how much there may be (CONTRACT.md section 10). */
export const WorkspaceUsage = Schema.Struct({
  quotas: Schema.Struct(ofEach(() => QuotaUsage)),
  budget: BudgetUsage
}).annotate({ identifier: "WorkspaceUsage" })
export type WorkspaceUsage = typeof WorkspaceUsage.Type

/** What there is, of a workspace and of a user; `userPlan` is the best plan of the workspaces that the user owns. */
export const Counted = Schema.Struct({
  plan: Plan,
  userPlan: Plan,
  used: Schema.Struct(ofEach(() => Schema.Int))
})
export type Counted = typeof Counted.Type

export const usageOf = ({ plan, used, userPlan }: Counted, most: Quotas): Pick<WorkspaceUsage, "quotas"> => ({
  quotas: ofEach((quota) => ({
    used: used[quota],
    limit: most[quota][isOfUser(quota) ? userPlan : plan]
  }))
})
