import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { RunId } from "../../Schemas/Ids.ts"
import type { RunStatus } from "../../Schemas/Run.ts"
import { monotonicMillis } from "../CurrentTime.ts"
import * as DatabaseWait from "../DatabaseWait.ts"
import { RunEventRepo } from "../RunEventRepo.ts"
import { Signals } from "../Signals.ts"
import { announceMillis } from "./WatchedRuns.ts"

/** How often a run is looked at that somebody reads: the safety net for signals. */
const pollMillis = 1_000
/** One that waits for people is moved on by a decision, which comes as a signal. */
const parkedPollMillis = 5_000

interface Watched {
  readonly readers: Set<Latch.Latch>
  /** Opened by signals that it changed: it goes on, or is over. */
  readonly signalled: Latch.Latch
  looking: Fiber.Fiber<unknown, unknown> | undefined
}

/**
 * Opens the latches of those who read a run's events whenever there may be more of them, until their scopes
 * close. However many read a run, it is looked at once.
 */
export const make = Effect.gen(function* () {
  const events = yield* RunEventRepo
  const signals = yield* Signals
  const watched = new Map<RunId, Watched>()
  const watching = yield* FiberSet.make()

  yield* (yield* signals.subscribe).pipe(
    Stream.runForEach((signal) => {
      const run = "id" in signal && signal.type !== "watch" ? watched.get(signal.id) : undefined
      if (run === undefined || !("id" in signal)) return Effect.void
      // Where it goes on, somebody else may execute it now, and has to hear that it is watched.
      return signal.type === "events" ? wake(run) : Effect.andThen(wake(run), run.signalled.open)
    }),
    Effect.forkScoped
  )

  const wake = ({ readers }: Watched) =>
    Effect.sync(() => {
      for (const latch of readers) latch.openUnsafe()
    })

  const look = Effect.fnUntraced(function* (id: RunId, run: Watched) {
    let seen: { readonly status: RunStatus; readonly lastId: number } | undefined
    let announcedAt = Number.NEGATIVE_INFINITY
    /** Whoever executes it tells then when there is more. */
    const announce = Effect.gen(function* () {
      announcedAt = yield* monotonicMillis
      yield* signals.publish({ type: "watch", id })
    })
    yield* announce
    while (true) {
      const now = yield* Effect.option(events.glance(id))
      // A store that is away is for the readers to find out, too.
      if (Option.isNone(now) || Option.isNone(now.value)) yield* wake(run)
      else {
        const { lastId, status } = now.value.value
        if (seen?.lastId !== lastId || seen.status !== status) yield* wake(run)
        seen = { lastId, status }
        const at = yield* monotonicMillis
        if (status === "RUNNING" && at - announcedAt >= announceMillis) yield* announce
      }
      const pause = seen?.status === "WAITING_APPROVAL" ? parkedPollMillis : pollMillis
      const hint = yield* Effect.timeoutOption(run.signalled.await, pause)
      run.signalled.closeUnsafe()
      if (Option.isSome(hint)) yield* announce
    }
  })

  return (id: RunId, reader: Latch.Latch): Effect.Effect<void, never, Scope.Scope> =>
    Effect.acquireRelease(
      Effect.suspend(() => {
        const known = watched.get(id)
        known?.readers.add(reader)
        if (known !== undefined) return Effect.void
        const run: Watched = {
          readers: new Set([reader]),
          signalled: Latch.makeUnsafe(false),
          looking: undefined
        }
        watched.set(id, run)
        return Effect.map(FiberSet.run(watching, DatabaseWait.apart(look(id, run))), (fiber) => {
          run.looking = fiber
        })
      }),
      () =>
        Effect.suspend(() => {
          const run = watched.get(id)
          run?.readers.delete(reader)
          if (run === undefined || run.readers.size > 0) return Effect.void
          watched.delete(id)
          return run.looking === undefined ? Effect.void : Fiber.interrupt(run.looking)
        })
    )
})
