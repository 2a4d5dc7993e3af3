import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { RunKind } from "../../../Schemas/Run.ts"
import { now } from "../../../Services/CurrentTime.ts"
import { type RunCount, RunCounts } from "../../../Services/RunCounts.ts"
import { runsOfKind } from "./RunRepo/Ordered.ts"
import { Store } from "./Store.ts"

export const layer = Layer.effect(
  RunCounts,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store

    const countOf = (kind: RunKind, at: Date): RunCount => {
      const [oldest, ...others] = runsOfKind(tables, kind, "PENDING")
      return {
        waiting: oldest === undefined ? 0 : 1 + others.length,
        running: runsOfKind(tables, kind, "RUNNING").length,
        parked: runsOfKind(tables, kind, "WAITING_APPROVAL").length,
        oldestWaitingSeconds:
          oldest === undefined ? 0 : Math.max(0, at.getTime() - oldest.updatedAt.getTime()) / 1000
      }
    }

    return guard(
      RunCounts.of({
        read: Effect.map(now, (at) => ({ task: countOf("task", at), turn: countOf("turn", at) }))
      })
    )
  })
)
