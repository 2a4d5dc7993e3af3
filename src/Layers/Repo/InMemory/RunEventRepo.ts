import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { RunEventRepo } from "../../../Services/RunEventRepo.ts"
import { isLatest, keepEvents, Store } from "./Store.ts"

export const layer = Layer.effect(
  RunEventRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { events } = tables
    return guard(
      RunEventRepo.of({
        append: (execution, batches, firstTokenAt = null) =>
          Effect.sync(() => {
            const run = tables.runs.get(execution.id)
            if (run === undefined || !isLatest(tables, execution)) return false
            if (run.firstTokenAt === null) tables.runs.set(run.id, { ...run, firstTokenAt })
            keepEvents(tables, execution.id, batches)
            return true
          }),
        read: (id, after, limit) =>
          Effect.sync(() => {
            const batches = events.get(id) ?? []
            const begins = batches.findLast(([first]) => first.id <= after)?.[0].id ?? 0
            return batches
              .filter((batch) => batch[0].id >= begins && batch.some((event) => event.id > after))
              .slice(0, limit)
              .flatMap((batch) => batch.filter((event) => event.id > after))
          }),
        glance: (id) =>
          Effect.sync(() =>
            Option.map(Option.fromNullishOr(tables.runs.get(id)), ({ status }) => ({
              status,
              lastId: events.get(id)?.at(-1)?.at(-1)?.id ?? 0
            }))
          ),
        truncate: (execution, from, to) =>
          Effect.sync(() => {
            if (!isLatest(tables, execution)) return false
            events.set(
              execution.id,
              (events.get(execution.id) ?? []).filter(([first]) => first.id < from || first.id > to)
            )
            return true
          })
      })
    )
  })
)
