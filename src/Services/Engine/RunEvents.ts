import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Stream from "effect/Stream"
import { errorEvent } from "../../Schemas/ChatEvent.ts"
import type { Unavailable } from "../../Schemas/Errors.ts"
import type { RunId } from "../../Schemas/Ids.ts"
import { pauseMillis } from "../../Schemas/Pause.ts"
import { isTerminal, type RunStatus, type StoredRun } from "../../Schemas/Run.ts"
import { endIdOf, endOf, isEnd, type NumberedEvent } from "../../Schemas/RunEvent.ts"
import { monotonicMillis } from "../CurrentTime.ts"
import * as DatabaseWait from "../DatabaseWait.ts"
import { Lifecycle } from "../Lifecycle.ts"
import { type Glance, RunEventRepo } from "../RunEventRepo.ts"
import { RunRepo } from "../RunRepo.ts"
import * as Looks from "./Looks.ts"
import * as Watch from "./Watch.ts"

const awayMillis = 60_000
const awayPauses = { first: 500, most: 4_000 }
const mostReaders = 10_000

/** The events of runs, whichever node executes them. */
export class RunEvents extends Context.Service<
  RunEvents,
  {
    /**
     * What a run told behind `after`, and then what it tells, until its end: the last event is always `done`
     * or `error`. When this process stops, has too many readers, or finds no database for a minute, that is
     * an error `unavailable` with the id of the event before it: from there the stream can be taken up again.
     * A look that failed is repeated within 4 s, whether or not anything more is told.
     */
    readonly follow: (id: RunId, after: number) => Stream.Stream<NumberedEvent>
    /** Whether the run is over and `after` is its last event, or behind it: there is nothing more to tell. */
    readonly isBehindEnd: (run: StoredRun, after: number) => Effect.Effect<boolean, Unavailable>
  }
>()("agentd/Services/Engine/RunEvents") {
  static readonly layer = Layer.effect(
    RunEvents,
    Effect.gen(function* () {
      const events = yield* RunEventRepo
      const lifecycle = yield* Lifecycle
      const look = yield* makeLook
      const watch = yield* Watch.make
      let readers = 0

      const follow = Effect.fnUntraced(function* (id: RunId, after: number) {
        if (readers >= mostReaders) return Stream.make({ id: after, event: tooManyReaders })
        yield* Effect.acquireRelease(
          Effect.sync(() => readers++),
          () => Effect.sync(() => readers--)
        )
        const told = yield* Latch.make(false)
        let seen: Glance | undefined
        yield* watch(id, { told, seen: () => seen })
        let last = after
        let failures = 0
        /** Whether all was read that there was: only if it is told of more there is more. */
        let isUpToDate = false
        const tryToLook = Effect.gen(function* () {
          const found = yield* look(id, last)
          failures = 0
          seen = found.seen
          isUpToDate = found.isWhole
          return found.events
        }).pipe(
          DatabaseWait.together,
          bridging((isLong) =>
            Effect.map(lifecycle.isDraining, (isDraining) => {
              failures++
              if (isDraining) return [{ id: last, event: stopping }]
              return isLong ? [{ id: last, event: away }] : []
            })
          )
        )
        let stop: Effect.Effect<void> = lifecycle.draining
        const wait = Effect.gen(function* () {
          if (failures === 0 && !isUpToDate) return
          // What it could not look at may be the last that there is to tell: nobody would say so again.
          const again =
            failures === 0 ? told.await : Effect.sleep(pauseMillis(failures, yield* Random.next, awayPauses))
          yield* Effect.raceFirst(again, stop)
        })
        const next = Effect.gen(function* () {
          while (true) {
            yield* wait
            stop = (yield* lifecycle.isDraining) ? lifecycle.drained : lifecycle.draining
            told.closeUnsafe()
            const found: ReadonlyArray<NumberedEvent> = yield* tryToLook
            if (found.length === 0) continue
            last = found.at(-1)?.id ?? last
            return found
          }
        })
        return Stream.fromIterableEffectRepeat(next).pipe(Stream.takeUntil(({ event }) => isEnd(event)))
      })

      return RunEvents.of({
        follow: (id, after) => Stream.unwrap(follow(id, after)),
        isBehindEnd: Effect.fnUntraced(function* (run, after) {
          if (!isTerminal(run.status)) return false
          const state = (yield* events.glance([run.id])).get(run.id)
          return state !== undefined && after >= endIdOf(run, state.lastId)
        })
      })
    })
  )
}

/** Looks at what a run told behind `last`, and its end; nothing yet, if it goes on. */
const makeLook = Effect.gen(function* () {
  const lifecycle = yield* Lifecycle
  const look = yield* Looks.make
  const runs = yield* RunRepo

  /** A node that stops finishes what it can: until then, who reads what is being executed may stay. */
  const mustLeave = (status: RunStatus) => (status === "RUNNING" ? lifecycle.isDrained : lifecycle.isDraining)

  const endBehind = Effect.fnUntraced(function* (id: RunId, last: number, lastId: number) {
    const run = Option.getOrUndefined(yield* runs.find(id))
    const end = run === undefined ? undefined : endOf(run)
    return run === undefined || end === undefined
      ? { id: last + 1, event: gone }
      : { id: Math.max(last + 1, endIdOf(run, lastId)), event: end }
  })

  return Effect.fnUntraced(function* (id: RunId, last: number) {
    const found = yield* look(id, last)
    if (found === undefined) {
      return { seen: undefined, isWhole: true, events: [{ id: last + 1, event: gone }] }
    }
    const { events, isWhole, lastId, status } = found
    const seen = { status, lastId }
    if (!isWhole) return { seen, isWhole, events }
    if (isTerminal(status)) {
      const end = yield* endBehind(id, events.at(-1)?.id ?? last, lastId)
      return { seen, isWhole, events: [...events, end] }
    }
    const leave = (yield* mustLeave(status)) ? [{ id: events.at(-1)?.id ?? last, event: stopping }] : []
    return { seen, isWhole, events: [...events, ...leave] }
  })
})

/** What is answered while the store is away, and whether it has been for long. */
const bridging = <B>(meanwhile: (isLong: boolean) => Effect.Effect<B>) => {
  let awaySince: number | undefined
  const isBack = Effect.sync(() => {
    awaySince = undefined
  })
  return <A>(effect: Effect.Effect<A, Unavailable>) =>
    effect.pipe(
      Effect.tap(isBack),
      Effect.catchTag("Unavailable", () =>
        Effect.flatMap(monotonicMillis, (at) => {
          awaySince ??= at
          return meanwhile(at - awaySince >= awayMillis)
        })
      )
    )
}

const gone = errorEvent("conversation_deleted", "the conversation was deleted")
const stopping = errorEvent("unavailable", "the service is stopping; take the events up again")
const away = errorEvent("unavailable", "the database can't be reached; take the events up again")
const tooManyReaders = errorEvent("unavailable", "too many read events here; take them up again later")
