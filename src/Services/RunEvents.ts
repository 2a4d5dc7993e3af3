import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { errorEvent } from "../Schemas/ChatEvent.ts"
import type { RunId } from "../Schemas/Ids.ts"
import { endOf, isEnd, type NumberedEvent } from "../Schemas/RunEvent.ts"
import { Lifecycle } from "./Lifecycle.ts"
import { RunEventRepo } from "./RunEventRepo.ts"
import { RunRepo } from "./RunRepo.ts"
import { Signals } from "./Signals.ts"

const batchesAtOnce = 100
const pollMillis = 1_000
const mostFailures = 60

/** The events of runs, whichever node executes them. */
export class RunEvents extends Context.Service<
  RunEvents,
  {
    /**
     * What a run told behind `after`, and then what it tells, until its end: the last event is always `done`
     * or `error`. When this process stops, or the database is away for a minute, that is an error
     * `unavailable` with the id of the event before it: from there the stream can be taken up again.
     */
    readonly follow: (id: RunId, after: number) => Stream.Stream<NumberedEvent>
  }
>()("agentd/Services/RunEvents") {
  static readonly layer = Layer.effect(
    RunEvents,
    Effect.gen(function* () {
      const lifecycle = yield* Lifecycle
      const log = yield* RunEventRepo
      const runs = yield* RunRepo
      const signals = yield* Signals

      const follow = Effect.fnUntraced(function* (id: RunId, after: number) {
        const told = yield* Latch.make(false)
        yield* (yield* signals.subscribe).pipe(
          Stream.runForEach((signal) =>
            signal.type !== "runs" && signal.type !== "watch" && signal.id === id ? told.open : Effect.void
          ),
          Effect.forkScoped
        )
        let last = after
        let failures = 0
        let announcedAt = Number.NEGATIVE_INFINITY
        /** Whoever executes it tells then when there is more. */
        const announce = Effect.gen(function* () {
          const at = yield* Clock.currentTimeMillis
          if (at - announcedAt < pollMillis) return
          announcedAt = at
          yield* signals.publish({ type: "watch", id })
        })

        const look = Effect.gen(function* () {
          const found = yield* log.read(id, last, batchesAtOnce)
          if (found.length > 0) return found
          const run = yield* runs.find(id)
          if (Option.isNone(run)) return [{ id: last + 1, event: gone }]
          const end = endOf(run.value)
          if (end === undefined) return (yield* lifecycle.isDraining) ? [{ id: last, event: stopping }] : []
          // What was told between the two looks comes before the end.
          const rest = yield* log.read(id, last, batchesAtOnce)
          return rest.length > 0 ? rest : [{ id: last + 1, event: end }]
        }).pipe(
          Effect.tap(() =>
            Effect.sync(() => {
              failures = 0
            })
          ),
          Effect.catchTag("Unavailable", () =>
            Effect.map(lifecycle.isDraining, (isDraining) => {
              if (isDraining) return [{ id: last, event: stopping }]
              return ++failures < mostFailures ? [] : [{ id: last, event: away }]
            })
          )
        )
        const next = Effect.gen(function* () {
          while (true) {
            told.closeUnsafe()
            const found: ReadonlyArray<NumberedEvent> = yield* look
            if (found.length > 0) {
              last = found.at(-1)?.id ?? last
              return found
            }
            yield* announce
            yield* Effect.timeoutOption(Effect.raceFirst(told.await, lifecycle.draining), pollMillis)
          }
        })
        return Stream.fromIterableEffectRepeat(next).pipe(Stream.takeUntil(({ event }) => isEnd(event)))
      })

      return RunEvents.of({ follow: (id, after) => Stream.unwrap(follow(id, after)) })
    })
  )
}

const gone = errorEvent("conversation_deleted", "the conversation was deleted")
const stopping = errorEvent("unavailable", "the service is stopping; take the events up again")
const away = errorEvent("unavailable", "the database can't be reached; take the events up again")
