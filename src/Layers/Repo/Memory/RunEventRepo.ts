import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { RunEventRepo } from "../../../Services/RunEventRepo.ts"
import { isLatest, logEvents, Store } from "./Store.ts"

export const layer = Layer.effect(
  RunEventRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { events } = tables
    return guard(
      RunEventRepo.of({
        append: (execution, batches) =>
          Effect.sync(() => {
            if (!isLatest(tables, execution)) return false
            logEvents(tables, execution.id, batches)
            return true
          }),
        read: (id, after, limit) =>
          Effect.sync(() =>
            (events.get(id) ?? [])
              .filter((batch) => batch.some((event) => event.id > after))
              .slice(0, limit)
              .flatMap((batch) => batch.filter((event) => event.id > after))
          ),
        truncate: (execution, from) =>
          Effect.sync(() => {
            if (!isLatest(tables, execution)) return false
            events.set(
              execution.id,
              (events.get(execution.id) ?? []).filter(([first]) => first.id < from)
            )
            return true
          })
      })
    )
  })
)
