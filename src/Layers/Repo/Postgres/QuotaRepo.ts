import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Fragment } from "effect/sql/Statement"
import { names, type Quota } from "../../../Schemas/Quotas.ts"
import { Counted } from "../../../Schemas/QuotaUsage.ts"
import { QuotaRepo } from "../../../Services/QuotaRepo.ts"
import { makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import { countOwned, countTokens, planOf } from "./Quotas.ts"
import { firstRow } from "./Rows.ts"

const counted = firstRow(Counted)
const columns = makeColumns(Counted, { used: "json" }).read()

export const layer = Layer.effect(
  QuotaRepo,
  Effect.map(Database, ({ list, read, sql }) => {
    const kept = (kind: Quota, column = "count"): Fragment =>
      sql`(select ${sql(column)} from kept where kind = ${kind})`
    return QuotaRepo.of({
      count: (workspaceId, userId, now) => {
        const others: Partial<Record<Quota, Fragment>> = {
          memoryBytes: kept("memoryEntries", "bytes"),
          // Of the two queues the fuller one.
          pendingRuns: sql`(select max(queued + scheduled) from run_slots where workspace_id = ${workspaceId})`,
          workspacesOwned: countOwned(sql, userId),
          tokens: countTokens(sql, userId, now)
        }
        const used = names.map((quota) => sql`${quota}::text, ${others[quota] ?? kept(quota)}`)
        const found = counted(sql`
          with kept as materialized (
            select kind, count, bytes from quota_counts where workspace_id = ${workspaceId})
          select ${columns} from (
            select plan, ${planOf(sql, userId)} as user_plan,
              json_build_object(${sql.join(", ", false)(used)}) as used
            from workspaces where id = ${workspaceId}) found`)
        // A replica may not have it yet.
        return Effect.flatMap(read([workspaceId, userId], found), (told) =>
          Option.isSome(told) ? Effect.succeed(told) : list(found)
        )
      }
    })
  })
)
