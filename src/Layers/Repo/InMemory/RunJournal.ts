import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { RunJournal } from "../../../Services/RunJournal.ts"
import { isLatest, keepEvents, Store } from "./Store.ts"

export const layer = Layer.effect(
  RunJournal,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { steps } = tables
    return guard(
      RunJournal.of({
        steps: (run) =>
          Effect.sync(() => {
            const kept = Array.from(steps.get(run) ?? []).sort(([a], [b]) => a - b)
            return new Map(kept.map(([index, { step }]) => [index, step]))
          }),
        record: (execution, index, step, events) =>
          Effect.sync(() => {
            if (!isLatest(tables, execution)) return false
            const known = steps.get(execution.id)
            const written = known?.get(index)
            if (written !== undefined && written.epoch !== execution.epoch) return false
            keepEvents(tables, execution.id, events)
            if (written !== undefined) return true
            steps.set(execution.id, new Map(known).set(index, { step, epoch: execution.epoch }))
            const run = tables.runs.get(execution.id)
            if (run !== undefined && step.type === "model" && step.answeredBy !== undefined) {
              tables.runs.set(run.id, { ...run, answeredBy: step.answeredBy })
            }
            return true
          })
      })
    )
  })
)
