import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { errorEvent } from "../Schemas/ChatEvent.ts"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { RunId } from "../Schemas/Ids.ts"
import { isTerminal, type RunStatus } from "../Schemas/Run.ts"
import { endOf, isEnd, type NumberedEvent } from "../Schemas/RunEvent.ts"
import { Lifecycle } from "./Lifecycle.ts"
import { RunEventRepo } from "./RunEventRepo.ts"
import { RunRepo } from "./RunRepo.ts"
import * as RunWatch from "./RunWatch.ts"

const batchesAtOnce = 100
const awayMillis = 60_000
const mayReadMillis = 30_000
const mostReaders = 10_000

/** The events of runs, whichever node executes them. */
export class RunEvents extends Context.Service<
  RunEvents,
  {
    /**
     * What a run told behind `after`, and then what it tells, until its end: the last event is always `done`
     * or `error`. When this process stops, has too many readers, or finds no database for a minute, that is
     * an error `unavailable` with the id of the event before it: from there the stream can be taken up again.
     * Whether the reader still may read is asked again before events go out, at most every 30 s.
     */
    readonly follow: (
      id: RunId,
      after: number,
      mayRead: Effect.Effect<boolean, Unavailable>
    ) => Stream.Stream<NumberedEvent>
  }
>()("agentd/Services/RunEvents") {
  static readonly layer = Layer.effect(
    RunEvents,
    Effect.gen(function* () {
      const lifecycle = yield* Lifecycle
      const log = yield* RunEventRepo
      const runs = yield* RunRepo
      const watch = yield* RunWatch.make
      let readers = 0

      /** What comes behind `last`; nothing yet, if the run goes on. */
      const look = Effect.fnUntraced(function* (id: RunId, last: number) {
        const found = yield* log.read(id, last, batchesAtOnce)
        if (found.length > 0) return found
        const state = yield* log.glance(id)
        if (Option.isNone(state)) return [{ id: last + 1, event: gone }]
        const { status } = state.value
        if (!isTerminal(status)) return (yield* isOver(status)) ? [{ id: last, event: stopping }] : []
        // What was told between the two looks comes before the end.
        const rest = yield* log.read(id, last, batchesAtOnce)
        if (rest.length > 0) return rest
        const end = Option.flatMapNullishOr(yield* runs.find(id), endOf)
        return [{ id: last + 1, event: Option.getOrElse(end, () => gone) }]
      })

      /** A node that stops finishes what it can: until then, who reads what is being executed may stay. */
      const isOver = (status: RunStatus) =>
        status === "RUNNING" ? lifecycle.isDrained : lifecycle.isDraining

      const follow = Effect.fnUntraced(function* (
        id: RunId,
        after: number,
        mayRead: Effect.Effect<boolean, Unavailable>
      ) {
        if (readers >= mostReaders) return Stream.make({ id: after, event: crowded })
        yield* Effect.acquireRelease(
          Effect.sync(() => readers++),
          () => Effect.sync(() => readers--)
        )
        const told = yield* Latch.make(false)
        yield* watch(id, told)
        let last = after
        let awaySince: number | undefined
        let askedAt = yield* Clock.currentTimeMillis

        const stillMayRead = Effect.gen(function* () {
          const at = yield* Clock.currentTimeMillis
          if (at - askedAt < mayReadMillis) return true
          const may = yield* mayRead
          if (may) askedAt = at
          return may
        })
        const tryToLook = Effect.gen(function* () {
          const found = yield* look(id, last)
          return found.length === 0 || (yield* stillMayRead) ? found : [{ id: last, event: forbidden }]
        }).pipe(
          Effect.tap(() =>
            Effect.sync(() => {
              awaySince = undefined
            })
          ),
          Effect.catchTag("Unavailable", () =>
            Effect.gen(function* () {
              const at = yield* Clock.currentTimeMillis
              awaySince ??= at
              if (yield* lifecycle.isDraining) return [{ id: last, event: stopping }]
              return at - awaySince < awayMillis ? [] : [{ id: last, event: away }]
            })
          )
        )
        const next = Effect.gen(function* () {
          while (true) {
            told.closeUnsafe()
            const found: ReadonlyArray<NumberedEvent> = yield* tryToLook
            if (found.length > 0) {
              last = found.at(-1)?.id ?? last
              return found
            }
            const stop = (yield* lifecycle.isDraining) ? lifecycle.drained : lifecycle.draining
            yield* Effect.raceFirst(told.await, stop)
          }
        })
        return Stream.fromIterableEffectRepeat(next).pipe(Stream.takeUntil(({ event }) => isEnd(event)))
      })

      return RunEvents.of({ follow: (id, after, mayRead) => Stream.unwrap(follow(id, after, mayRead)) })
    })
  )
}

const forbidden = errorEvent("forbidden", "you are not a member of this workspace any more")
const gone = errorEvent("conversation_deleted", "the conversation was deleted")
const stopping = errorEvent("unavailable", "the service is stopping; take the events up again")
const away = errorEvent("unavailable", "the database can't be reached; take the events up again")
const crowded = errorEvent("unavailable", "too many read events here; take them up again later")
