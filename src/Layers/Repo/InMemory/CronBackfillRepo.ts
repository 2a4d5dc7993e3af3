import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { CronBackfillRepo } from "../../../Services/CronBackfillRepo.ts"
import { now } from "../../../Services/CurrentTime.ts"
import * as Looks from "./CronBackfillRepo/Looks.ts"
import { fireKey, forgetBackfill, Store } from "./Store.ts"

export const layer = Layer.effect(
  CronBackfillRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { cronBackfillLooks, cronBackfills, cronBacklogs, cronFires } = tables

    return guard(
      CronBackfillRepo.of({
        backlogs: (id) =>
          Effect.sync(() => Array.from(cronBacklogs.values()).filter(({ cronJobId }) => cronJobId === id)),
        missed: (id, { from, to }, limit) =>
          Effect.sync(() =>
            Array.from(cronFires.values())
              .filter(({ cronJobId, outcome, scheduledAt }) => {
                return cronJobId === id && outcome === "missed" && scheduledAt >= from && scheduledAt < to
              })
              .map(({ scheduledAt }) => scheduledAt)
              .sort((a, b) => a.getTime() - b.getTime())
              .slice(0, limit)
          ),
        queue: (id, slots, keepMillis) =>
          Effect.map(now, (at) => {
            const fresh = slots
              .filter((slot) => slot.getTime() >= at.getTime() - keepMillis)
              .map((scheduledAt) => ({ key: fireKey(id, scheduledAt), row: { cronJobId: id, scheduledAt } }))
              .filter(({ key }) => !Looks.hadRun(tables, key) && !cronBackfills.has(key))
            for (const { key, row } of fresh) cronBackfills.set(key, row)
            if (fresh.length > 0 && !cronBackfillLooks.has(id))
              cronBackfillLooks.set(id, { at, wasBusy: false })
            return { queued: fresh.length, waiting: Looks.waitingOf(tables, id).length }
          }),
        cancel: (id) => Effect.sync(() => forgetBackfill(tables, id)),
        state: (id) =>
          Effect.sync(() => {
            const slots = Looks.waitingOf(tables, id)
            return { waiting: slots.length, next: slots[0] ?? null }
          }),
        ...Looks.make(tables)
      })
    )
  })
)
