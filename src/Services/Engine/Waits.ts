import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { RunId, UserId } from "../../Schemas/Ids.ts"
import { isSettled } from "../../Schemas/Run.ts"
import * as DatabaseWait from "../DatabaseWait.ts"
import { Lifecycle } from "../Lifecycle.ts"
import * as Metrics from "../Metrics.ts"
import { RunEventRepo } from "../RunEventRepo.ts"
import { type Signal, Signals } from "../Signals.ts"
import { byHalves } from "./Halves.ts"

/** How many may wait on a node, and of one user. */
const mostWaiting = 10_000
const mostOfUser = 2_000
/** In one statement. */
const mostAtOnce = 2_000
/** Between looks, and where the store did not answer. */
const pauseMillis = 10
const againMillis = 1_000

/**
 * Who waits on this node for runs to settle: to be over, or to wait for people. Waiting costs no statement: whoever
 * begins to wait is announced to all nodes with one signal, and its run is looked at once behind that; then a signal
 * says when to look again (`AwaitedRuns`). All that is to be said or looked at at the same time shares a statement. A
 * signal that is lost is no harm where listening broke off: then all are announced and looked at again.
 */
export class Waits extends Context.Service<
  Waits,
  {
    /**
     * Waits until this run is settled or gone, this process is told to stop, or the time is over. False, and nothing is
     * waited for, where too many wait on this node, or too many of this user.
     */
    readonly settled: (userId: UserId, id: RunId, millis: number) => Effect.Effect<boolean>
  }
>()("agentd/Services/Engine/Waits") {
  static readonly layer = Layer.effect(
    Waits,
    Effect.gen(function* () {
      const signals = yield* Signals
      const waiting = makeWaiting()
      yield* Metrics.observe(Metrics.nodeWaiting, {}, waiting.size)
      const look = yield* makeLook(waiting)

      const hear = (signal: Signal) => {
        if (signal.type === "run") waiting.look([signal.id])
        else if (signal.type === "settled") waiting.look(signal.ids)
        else if (signal.type === "whoAwaits") waiting.announceAll()
        else if (signal.type === "lost") {
          waiting.announceAll()
          waiting.lookAtAll()
        }
      }
      yield* (yield* signals.subscribe).pipe(
        Stream.runForEach((signal) => Effect.sync(() => hear(signal))),
        Effect.forkScoped
      )
      yield* Effect.forkScoped(Effect.forever(DatabaseWait.apart(look)))

      const lifecycle = yield* Lifecycle
      yield* lifecycle.draining.pipe(Effect.andThen(Effect.sync(waiting.stop)), Effect.forkScoped)

      return Waits.of({
        settled: (userId, id, millis) =>
          Effect.suspend(() => {
            const latch = waiting.enter(userId, id)
            if (latch === undefined) return Effect.succeed(false)
            return Effect.ensuring(
              Effect.as(Effect.timeoutOption(latch.await, millis), true),
              Effect.sync(() => waiting.leave(userId, id, latch))
            )
          })
      })
    })
  )
}

type Waiting = ReturnType<typeof makeWaiting>

/** Those who wait, and what is to be said of their runs and looked at. */
const makeWaiting = () => {
  const waiters = new Map<RunId, Set<Latch.Latch>>()
  const counts = new Map<UserId, number>()
  const unannounced = new Set<RunId>()
  const unseen = new Set<RunId>()
  const isAnyDue = Latch.makeUnsafe(false)
  let size = 0
  let isStopping = false

  const add = (due: Set<RunId>, ids: Iterable<RunId>) => {
    for (const id of ids) if (waiters.has(id)) due.add(id)
    if (due.size > 0) isAnyDue.openUnsafe()
  }
  const release = (id: RunId) => {
    for (const latch of waiters.get(id) ?? []) latch.openUnsafe()
  }
  const take = (due: Set<RunId>): ReadonlyArray<RunId> => {
    const taken = Array.from(due).filter((id) => waiters.has(id))
    due.clear()
    return taken
  }

  return {
    size: () => size,
    isAnyDue: isAnyDue.await,
    look: (ids: ReadonlyArray<RunId>) => add(unseen, ids),
    lookAtAll: () => add(unseen, waiters.keys()),
    announceAll: () => add(unannounced, waiters.keys()),
    take: () => {
      isAnyDue.closeUnsafe()
      return { announced: take(unannounced), seen: take(unseen) }
    },
    release,
    enter: (userId: UserId, id: RunId): Latch.Latch | undefined => {
      const count = counts.get(userId) ?? 0
      if (size >= mostWaiting || count >= mostOfUser) return undefined
      size++
      counts.set(userId, count + 1)
      const latch = Latch.makeUnsafe(isStopping)
      const others = waiters.get(id)
      if (others === undefined) waiters.set(id, new Set([latch]))
      else others.add(latch)
      // Also where others wait already: what they were told may have been before this one came.
      add(unannounced, [id])
      add(unseen, [id])
      return latch
    },
    leave: (userId: UserId, id: RunId, latch: Latch.Latch) => {
      size--
      const left = (counts.get(userId) ?? 1) - 1
      if (left === 0) counts.delete(userId)
      else counts.set(userId, left)
      const others = waiters.get(id)
      others?.delete(latch)
      if (others?.size === 0) waiters.delete(id)
    },
    stop: () => {
      isStopping = true
      for (const id of waiters.keys()) release(id)
    }
  }
}

/** Says for which runs somebody waits, and then looks at them: what settles behind that is told. */
const makeLook = Effect.fnUntraced(function* (waiting: Waiting) {
  const events = yield* RunEventRepo
  const signals = yield* Signals

  const glance = Effect.fnUntraced(function* (ids: ReadonlyArray<RunId>) {
    const found = yield* events.glance(ids)
    for (const id of ids) {
      const state = found.get(id)
      if (state === undefined || isSettled(state.status)) waiting.release(id)
    }
  })

  return Effect.gen(function* () {
    yield* waiting.isAnyDue
    // Who begins to wait at the same time comes along.
    yield* Effect.yieldNow
    const { announced, seen } = waiting.take()
    const [first, ...rest] = announced
    if (first !== undefined) yield* signals.publish({ type: "await", ids: [first, ...rest] })
    let pause = pauseMillis
    for (let from = 0; from < seen.length; from += mostAtOnce) {
      const some = seen.slice(from, from + mostAtOnce)
      yield* byHalves(some, glance, (id) => Effect.sync(() => waiting.release(id))).pipe(
        Effect.catchTag("Unavailable", () =>
          Effect.sync(() => {
            pause = againMillis
            waiting.look(some)
          })
        )
      )
    }
    yield* Effect.sleep(pause)
  })
})
