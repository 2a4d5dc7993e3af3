import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { keptBacklog } from "../../../Schemas/CronFire.ts"
import { CronFireRepo } from "../../../Services/CronFireRepo.ts"
import { now } from "../../../Services/CurrentTime.ts"
import * as Due from "./CronFireRepo/Due.ts"
import { fireKey, Store } from "./Store.ts"

export const layer = Layer.effect(
  CronFireRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { cronBacklogs, cronFires, cronJobs, runs } = tables

    return guard(
      CronFireRepo.of({
        ...Due.make(tables),
        now,
        record: ({ backlogs, firedAt, next, slots }) =>
          Effect.sync(() => {
            const made = slots.flatMap(({ cronJobId, outcome, run, scheduledAt }) => {
              const key = fireKey(cronJobId, scheduledAt)
              if (cronFires.has(key)) return []
              cronFires.set(key, { cronJobId, scheduledAt, firedAt, outcome, runId: run?.id ?? null })
              if (run === null) return []
              runs.set(run.id, run)
              return [run.id]
            })
            for (const backlog of backlogs) {
              const key = fireKey(backlog.cronJobId, backlog.until)
              if (!cronBacklogs.has(key)) cronBacklogs.set(key, backlog)
            }
            for (const { cronJobId, nextFireAt } of next) {
              const job = cronJobs.get(cronJobId)
              if (job !== undefined) cronJobs.set(cronJobId, { ...job, nextFireAt })
            }
            return made
          }),
        claimBacklog: (keepMillis) =>
          Effect.map(now, (at) =>
            Option.map(Option.fromNullishOr(cronBacklogs.values().next().value), (backlog) => ({
              at,
              backlog: keptBacklog(backlog, at, keepMillis)
            }))
          ),
        recordMissed: ({ cronJobId, until }, { at, rest, slots }) =>
          Effect.sync(() => {
            for (const scheduledAt of slots) {
              const key = fireKey(cronJobId, scheduledAt)
              if (cronFires.has(key)) continue
              cronFires.set(key, { cronJobId, scheduledAt, firedAt: at, outcome: "missed", runId: null })
            }
            const key = fireKey(cronJobId, until)
            if (rest === null) cronBacklogs.delete(key)
            else if (cronBacklogs.has(key)) cronBacklogs.set(key, rest)
          }),
        list: ({ cronJobId, limit, offset }) =>
          Effect.sync(() =>
            Array.from(cronFires.values())
              .filter((fire) => fire.cronJobId === cronJobId)
              .sort((a, b) => b.scheduledAt.getTime() - a.scheduledAt.getTime())
              .slice(offset, offset + limit)
              .map(({ cronJobId: _, ...fire }) => fire)
          ),
        forget: (keepMillis, limit) =>
          Effect.map(Clock.currentTimeMillis, (at) => {
            const old = Array.from(cronFires)
              .filter(([, { scheduledAt }]) => scheduledAt.getTime() < at - keepMillis)
              .sort(([, a], [, b]) => a.scheduledAt.getTime() - b.scheduledAt.getTime())
              .slice(0, limit)
            for (const [key] of old) cronFires.delete(key)
            return old.length
          })
      })
    )
  })
)
