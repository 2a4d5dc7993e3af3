import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { RunJournal } from "../../../Services/RunJournal.ts"
import { Store } from "./Store.ts"

export const layer = Layer.effect(
  RunJournal,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { leases, steps } = tables
    return guard(
      RunJournal.of({
        open: (run, worker) =>
          Effect.sync(() => ({
            finished: steps.get(run) ?? new Map(),
            record: (index, step) =>
              Effect.sync(() => {
                const known = steps.get(run)
                if (leases.get(run)?.worker !== worker || known?.has(index)) return false
                steps.set(run, new Map(known).set(index, step))
                return true
              })
          }))
      })
    )
  })
)
