import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { RunId } from "../../../Schemas/Ids.ts"
import { type Appended, type EventWrite, RunEventRepo } from "../../../Services/RunEventRepo.ts"
import { isLatest, keepEvents, Store, type Tables } from "./Store.ts"

const append = (tables: Tables, { batches, execution, firstTokenAt }: EventWrite): Appended => {
  const run = tables.runs.get(execution.id)
  if (run === undefined || !isLatest(tables, execution)) return "lost"
  if (run.firstTokenAt === null) tables.runs.set(run.id, { ...run, firstTokenAt })
  keepEvents(tables, execution.id, batches)
  return "kept"
}

/** The batches with events behind `after`, and those events of them. */
const behind = ({ events }: Tables, id: RunId, after: number) => {
  const batches = events.get(id) ?? []
  const begins = batches.findLast(([first]) => first.id <= after)?.[0].id ?? 0
  return batches
    .filter((batch) => batch[0].id >= begins && batch.some((event) => event.id > after))
    .map((batch) => batch.filter((event) => event.id > after))
}

const glance = ({ events, runs }: Tables, id: RunId) => {
  const run = runs.get(id)
  return run && { status: run.status, lastId: events.get(id)?.at(-1)?.at(-1)?.id ?? 0 }
}

export const layer = Layer.effect(
  RunEventRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { events } = tables
    return guard(
      RunEventRepo.of({
        append: (writes) => Effect.sync(() => writes.map((write) => append(tables, write))),
        read: (id, after, limit) => Effect.sync(() => behind(tables, id, after).slice(0, limit).flat()),
        look: (readers, limit) =>
          Effect.sync(() =>
            readers.map(({ after, id }) => {
              const seen = glance(tables, id)
              const batches = behind(tables, id, after)
              const found = batches.slice(0, limit).flat()
              return seen && { ...seen, events: found, isWhole: batches.length <= limit }
            })
          ),
        glance: (ids) =>
          Effect.sync(
            () =>
              new Map(
                ids.flatMap((id) => {
                  const seen = glance(tables, id)
                  return seen === undefined ? [] : [[id, seen] as const]
                })
              )
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
