import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import type { RunKind } from "../Schemas/Run.ts"
import { monotonicMillis } from "./CurrentTime.ts"
import * as DatabaseWait from "./DatabaseWait.ts"
import * as Metrics from "./Metrics.ts"
import { type RunCount, RunCounts } from "./RunCounts.ts"

/** What was read is good for so long, however many ask for it. */
const freshMillis = 5_000
/** Nobody waits longer for it: a database that takes more counts as one that is away. */
const waitMillis = 2_000

/** What `/metrics` says of the database that all nodes share (CONTRACT.md section 13). */
export class DatabaseGauges extends Context.Service<
  DatabaseGauges,
  {
    /**
     * Brings `agentd_database_…` up to date, 5 s old at most, in 2 s at most, by one query at a time. Of a database
     * that is away `database_up` is 0, and the others are not there: what was true before is no answer.
     */
    readonly refresh: Effect.Effect<void>
  }
>()("agentd/Services/DatabaseGauges") {
  static readonly layer = Layer.effect(
    DatabaseGauges,
    Effect.gen(function* () {
      const counts = yield* RunCounts
      const scope = yield* Effect.scope
      let lookedAt = Number.NEGATIVE_INFINITY
      let looking: Fiber.Fiber<void> | undefined

      yield* Metrics.begin

      const look = counts.read.pipe(
        Effect.flatMap((found) => Effect.andThen(show("task", found.task), show("turn", found.turn))),
        Effect.andThen(Metric.update(Metrics.databaseUp, 1)),
        Effect.catchTag("Unavailable", () => away),
        // A metric that can't be had is no reason to show none.
        Effect.catchCause((cause) =>
          Effect.andThen(Effect.logWarning("the runs of the database can't be counted", cause), away)
        ),
        Effect.ensuring(
          Effect.map(monotonicMillis, (at) => {
            lookedAt = at
          })
        ),
        DatabaseWait.apart
      )

      return DatabaseGauges.of({
        refresh: Effect.gen(function* () {
          const at = yield* monotonicMillis
          const isLooking = looking !== undefined && looking.pollUnsafe() === undefined
          if (!isLooking && at - lookedAt < freshMillis) return
          if (!isLooking) looking = yield* Effect.forkIn(look, scope)
          if (looking === undefined) return
          yield* Effect.timeoutOrElse(Fiber.await(looking), { duration: waitMillis, orElse: () => away })
        })
      })
    })
  )
}

const states = ["waiting", "running", "parked"] as const

const runs = (kind: RunKind, state: (typeof states)[number]) =>
  Metric.withAttributes(Metrics.databaseRuns, { kind, state })

const oldest = (kind: RunKind) => Metric.withAttributes(Metrics.databaseOldest, { kind })

const show = Effect.fnUntraced(function* (kind: RunKind, count: RunCount) {
  for (const state of states) yield* Metric.update(runs(kind, state), count[state])
  yield* Metric.update(oldest(kind), count.oldestWaitingSeconds)
})

const away = Effect.gen(function* () {
  yield* Metric.update(Metrics.databaseUp, 0)
  for (const kind of ["task", "turn"] as const) {
    for (const state of states) yield* Metric.remove(runs(kind, state))
    yield* Metric.remove(oldest(kind))
  }
})
