import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { RunId } from "../../Schemas/Ids.ts"
import { monotonicMillis } from "../CurrentTime.ts"
import * as DatabaseWait from "../DatabaseWait.ts"
import { type Glance, RunEventRepo } from "../RunEventRepo.ts"
import { type Signal, Signals } from "../Signals.ts"
import { byHalves } from "./Halves.ts"
import { announceMillis } from "./WatchedRuns.ts"

/** How often runs are looked at that somebody reads: the safety net for signals. */
const pollMillis = 1_000
/** One that waits for people is moved on by a decision, which comes as a signal. */
const parkedPollMillis = 5_000
/** In one statement. */
const mostRuns = 2_000
/** Between announcements of runs that somebody has just begun to read. */
const announcePauseMillis = 10

/** Who reads the events of a run. */
export interface Reader {
  /** Opened when there may be more of them. */
  readonly told: Latch.Latch
  /** How far the run was when it was read last: from there on there is more. */
  readonly seen: () => Glance | undefined
}

interface Watched {
  readonly readers: Set<Reader>
  isParked: boolean
  /** By `monotonicMillis`. */
  glancedAt: number
  announcedAt: number
}

interface Due {
  readonly id: RunId
  readonly run: Watched
}

const wake = ({ readers }: Watched): void => {
  for (const { told } of readers) told.openUnsafe()
}

/** Wakes those who have not read so far. */
const wakeBehind = ({ readers }: Watched, { lastId, status }: Glance) => {
  for (const { seen, told } of readers) {
    const last = seen()
    if (last?.lastId !== lastId || last.status !== status) told.openUnsafe()
  }
}

/** Those to be looked at now. */
const dueOf = (watched: ReadonlyMap<RunId, Watched>, at: number): ReadonlyArray<Due> =>
  Array.from(watched, ([id, run]) => ({ id, run })).filter(
    ({ run }) => !run.isParked || at - run.glancedAt >= parkedPollMillis - pollMillis / 2
  )

/** Says that runs are watched: all that is to be said at the same time in one signal. */
const makeAnnounce = Effect.fnUntraced(function* (watched: ReadonlyMap<RunId, Watched>) {
  const signals = yield* Signals
  const unannounced = new Set<RunId>()
  const isAnyUnannounced = yield* Latch.make(false)

  /** Whoever executes it tells then when there is more. */
  const announce = (id: RunId) => {
    unannounced.add(id)
    isAnyUnannounced.openUnsafe()
  }
  const publish = Effect.gen(function* () {
    isAnyUnannounced.closeUnsafe()
    const at = yield* monotonicMillis
    const due = Array.from(unannounced).flatMap((id) => {
      const run = watched.get(id)
      return run === undefined ? [] : [{ id, run }]
    })
    unannounced.clear()
    for (const { run } of due) run.announcedAt = at
    const [first, ...rest] = due.map(({ id }) => id)
    if (first !== undefined) yield* signals.publish({ type: "watch", ids: [first, ...rest] })
  })
  yield* isAnyUnannounced.await.pipe(
    // Who begins to read at the same time comes along.
    Effect.andThen(Effect.yieldNow),
    Effect.andThen(publish),
    Effect.andThen(Effect.sleep(announcePauseMillis)),
    Effect.forever,
    Effect.forkScoped
  )

  return announce
})

/**
 * Opens the latches of those who read runs' events whenever there may be more of them, until their scopes close.
 * However many runs are read, and by however many, they are looked at once a second, in one statement.
 */
export const make = Effect.gen(function* () {
  const events = yield* RunEventRepo
  const signals = yield* Signals
  const watched = new Map<RunId, Watched>()
  const isAnyWatched = yield* Latch.make(false)
  const announce = yield* makeAnnounce(watched)

  const hear = (signal: Signal) => {
    if (signal.type !== "run" && signal.type !== "events") return
    for (const id of signal.type === "run" ? [signal.id] : signal.ids) {
      const run = watched.get(id)
      if (run === undefined) continue
      wake(run)
      if (signal.type === "events") continue
      run.isParked = false
      // Where it goes on, somebody else may execute it now, and has to hear that it is watched.
      announce(id)
    }
  }
  yield* (yield* signals.subscribe).pipe(
    Stream.runForEach((signal) => Effect.sync(() => hear(signal))),
    Effect.forkScoped
  )

  const glance = Effect.fnUntraced(function* (due: ReadonlyArray<Due>) {
    const found = yield* events.glance(due.map(({ id }) => id))
    const at = yield* monotonicMillis
    for (const { id, run } of due) {
      run.glancedAt = at
      const state = found.get(id)
      if (state === undefined) wake(run)
      else {
        run.isParked = state.status === "WAITING_APPROVAL"
        wakeBehind(run, state)
        if (state.status === "RUNNING" && at - run.announcedAt >= announceMillis - pollMillis / 2)
          announce(id)
      }
    }
  })

  const look = Effect.gen(function* () {
    yield* isAnyWatched.await
    const at = yield* monotonicMillis
    const due = dueOf(watched, at)
    for (let from = 0; from < due.length; from += mostRuns) {
      const some = due.slice(from, from + mostRuns)
      yield* byHalves(some, glance, ({ run }) => Effect.sync(() => wake(run))).pipe(
        // A store that is away is for the readers to find out, too.
        Effect.catchTag("Unavailable", () =>
          Effect.forEach(some, ({ run }) => Effect.sync(() => wake(run)), { discard: true })
        )
      )
    }
    yield* Effect.sleep(pollMillis)
  })
  yield* Effect.forkScoped(Effect.forever(DatabaseWait.apart(look)))

  return (id: RunId, reader: Reader): Effect.Effect<void, never, Scope.Scope> =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const known = watched.get(id)
        known?.readers.add(reader)
        if (known !== undefined) return
        watched.set(id, {
          readers: new Set([reader]),
          isParked: false,
          glancedAt: Number.NEGATIVE_INFINITY,
          announcedAt: Number.NEGATIVE_INFINITY
        })
        announce(id)
        isAnyWatched.openUnsafe()
      }),
      () =>
        Effect.sync(() => {
          const run = watched.get(id)
          run?.readers.delete(reader)
          if (run !== undefined && run.readers.size === 0) watched.delete(id)
          if (watched.size === 0) isAnyWatched.closeUnsafe()
        })
    )
})
