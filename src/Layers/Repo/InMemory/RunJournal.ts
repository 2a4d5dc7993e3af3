import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { RunId } from "../../../Schemas/Ids.ts"
import { spentBy } from "../../../Schemas/Journal.ts"
import { kindOf } from "../../../Schemas/Run.ts"
import { mostExecutions, withoutTexts } from "../../../Schemas/RunTimes.ts"
import { now } from "../../../Services/CurrentTime.ts"
import { RunJournal } from "../../../Services/RunJournal.ts"
import { reservationKey } from "./Budgets.ts"
import { isLatest, keepEvents, Store } from "./Store.ts"

export const layer = Layer.effect(
  RunJournal,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { steps } = tables

    const progress = (run: RunId) => {
      const kept = Array.from(steps.get(run) ?? []).sort(([a], [b]) => a - b)
      return {
        steps: new Map(kept.map(([index, { step }]) => [index, step])),
        workedMillis: Math.max(0, ...kept.map(([, { workedMillis }]) => workedMillis))
      }
    }

    return guard(
      RunJournal.of({
        progress: (run) => Effect.sync(() => progress(run)),
        steps: (run) => Effect.sync(() => progress(run).steps),
        times: (run) =>
          Effect.sync(() => ({
            steps: Array.from(steps.get(run) ?? [], ([index, { at, epoch, step }]) => ({
              index,
              epoch,
              at,
              step: withoutTexts(step)
            })),
            executions: Array.from(tables.executions.get(run)?.values() ?? [])
              .sort((a, b) => a.epoch - b.epoch)
              .slice(-mostExecutions)
          })),
        record: (execution, index, step, events, worked = 0) =>
          Effect.map(now, (at) => {
            if (!isLatest(tables, execution)) return false
            const known = steps.get(execution.id)
            const written = known?.get(index)
            if (written !== undefined && written.epoch !== execution.epoch) return false
            keepEvents(tables, execution.id, events)
            if (step.type === "model") tables.reservations.delete(reservationKey(execution))
            if (written !== undefined) return true
            const workedMillis = Math.round(worked)
            steps.set(
              execution.id,
              new Map(known).set(index, { step, epoch: execution.epoch, workedMillis, at })
            )
            const run = tables.runs.get(execution.id)
            if (run === undefined) return true
            const answeredBy = (step.type === "model" ? step.answeredBy : undefined) ?? run.answeredBy
            tables.runs.set(run.id, { ...run, answeredBy })
            tables.usage.set(`${run.id} ${index}`, {
              ...run,
              answeredBy,
              kind: kindOf(run),
              at,
              isFirst: index === 0,
              spent: spentBy(step)
            })
            return true
          })
      })
    )
  })
)
