import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type Forbidden, InvalidInput, type NotFound, type Unavailable } from "../Schemas/Errors.ts"
import type { RunId, WorkspaceId } from "../Schemas/Ids.ts"
import { spentOf } from "../Schemas/Journal.ts"
import { nothingSpent } from "../Schemas/Usage.ts"
import {
  type RunUsage,
  toRunUsage,
  toUsageRow,
  type UsageGroup,
  type UsageRow,
  usagePeriod
} from "../Schemas/UsageReport.ts"
import type { User } from "../Schemas/User.ts"
import { Access } from "./Access.ts"
import { now } from "./CurrentTime.ts"
import { RunJournal } from "./RunJournal.ts"
import { RunRepo } from "./RunRepo.ts"
import { UsageRepo } from "./UsageRepo.ts"

/** An answer has no more rows, and one for all that is left. */
const mostRows = 1_000

/** What was used, and what it cost (CONTRACT.md section 11). */
export class Usage extends Context.Service<
  Usage,
  {
    /** Of a workspace, for its members, as `UsageRepo.sums` has it. */
    readonly report: (
      user: User,
      asked: {
        readonly workspaceId: WorkspaceId
        readonly from?: string | undefined
        readonly to?: string | undefined
        readonly groupBy?: UsageGroup | undefined
      }
    ) => Effect.Effect<ReadonlyArray<UsageRow>, Forbidden | InvalidInput | Unavailable>
    /** Of a run or a chat turn, so far: what its journal has, and when that is forgotten what it ended with. */
    readonly ofRun: (user: User, id: RunId) => Effect.Effect<RunUsage, NotFound | Unavailable>
  }
>()("agentd/Services/Usage") {
  static readonly layer = Layer.effect(
    Usage,
    Effect.gen(function* () {
      const access = yield* Access
      const journals = yield* RunJournal
      const repo = yield* UsageRepo
      const runs = yield* RunRepo

      return Usage.of({
        report: Effect.fnUntraced(function* (user, { from, groupBy = "day", to, workspaceId }) {
          yield* access.member(user, workspaceId)
          const period = usagePeriod({ from, to }, yield* now)
          if (typeof period === "string") return yield* new InvalidInput({ error: period })
          const sums = yield* repo.sums({ ...period, workspaceId, groupBy, most: mostRows })
          return sums.map(toUsageRow)
        }),
        ofRun: Effect.fnUntraced(function* (user, id) {
          const run = yield* access.visible(user, "run", yield* runs.find(id))
          const ended = yield* repo.ofRun(id)
          if (Option.isSome(ended)) return toRunUsage(ended.value)
          const steps = yield* journals.steps(id)
          const isForgotten = steps.size === 0 && run.usage.inputTokens + run.usage.outputTokens > 0
          return toRunUsage(
            isForgotten ? { ...nothingSpent, ...run.usage, costNanos: null } : spentOf(steps.values())
          )
        })
      })
    })
  )
}
