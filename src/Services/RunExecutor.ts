import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { RunId } from "../Schemas/Ids.ts"
import type { RunKind, StoredRun } from "../Schemas/Run.ts"
import type { EventListener } from "./LiveEvents.ts"
import { logged } from "./Logged.ts"
import { runsFinished, turnsFinished } from "./Metrics.ts"
import { RunDispatch } from "./RunDispatch.ts"
import { RunRepo } from "./RunRepo.ts"
import * as RunUpkeep from "./RunUpkeep.ts"
import { RunWork } from "./RunWork.ts"
import { Settings } from "./Settings.ts"
import { Signals } from "./Signals.ts"

const pollMillis = 1_000
const watchMillis = 500
/** What one query takes at most: the other slots are free for what is made here meanwhile. */

/** A run in one of this node's slots: until when it is ours, by the clock of this process. */
interface Slot {
  readonly epoch: number
  until: number
  isLost: boolean
}

/**
 * Executes runs of one kind in the background, a bounded number of them at once: those that were made here
 * with a free slot at once, those that wait as slots fall free, and those whose worker is gone when its lease
 * has ended.
 * A database that is away stops nothing while the lease may still be ours: what was to be written is tried
 * again. A run that another has taken over, or that was cancelled, is interrupted. Closing it hands
 * unfinished runs back.
 */
const make = Effect.fnUntraced(function* (kind: RunKind) {
  const dispatch = yield* RunDispatch
  const repo = yield* RunRepo
  const settings = yield* Settings
  const signals = yield* Signals
  const work = yield* RunWork
  const { leaseMillis, maxCrashes, runsPerWorkspace, worker } = settings
  const claimant = { worker, leaseMillis, kind }
  const concurrency = kind === "task" ? settings.runConcurrency : settings.turnConcurrency

  // A claim under way holds the slots of what it may take: not all of them, so that what is made here meanwhile
  // begins here. It is repeated as long as it is full.
  const atOnce = Math.ceil(concurrency / (kind === "task" ? 2 : 8))

  // Runs that a former process of this name held when it died are nobody's now.
  yield* repo.release(worker, { kind, crashed: true, maxCrashes })
  const handBack = repo.release(worker, { kind, crashed: false, maxCrashes }).pipe(
    Effect.andThen(signals.publish({ type: "runs", kind })),
    Effect.catch((error) => Effect.logWarning("runs not handed back", error.error))
  )
  yield* Effect.addFinalizer(() => handBack)
  const running = yield* FiberMap.make<RunId, void, never>()
  const slots = new Map<RunId, Slot>()
  const awake = yield* Latch.make(false)
  let reserved = 0
  let isDraining = false
  const free = () => (isDraining ? 0 : concurrency - slots.size - reserved)
  /** Less than the lease, so that this process has stopped before another begins. */
  const ours = (since: number) => since + leaseMillis * 0.9

  const execute = Effect.fnUntraced(function* (run: StoredRun, listener?: EventListener) {
    const status = yield* work.execute(run, listener)
    if (status !== "WAITING_APPROVAL") {
      const finished =
        kind === "task"
          ? Metric.withAttributes(runsFinished, { status })
          : Metric.withAttributes(turnsFinished, { ending: status === "COMPLETED" ? "done" : "error" })
      yield* Metric.update(finished, 1)
    }
  })

  /** `since` is when the lease was asked for. */
  const occupy = (run: StoredRun, since: number) => {
    slots.set(run.id, { epoch: run.epoch, until: ours(since), isLost: false })
  }

  const occupyAll = (runs: ReadonlyArray<StoredRun>, since: number) => {
    for (const run of runs) occupy(run, since)
  }

  /** In the slot that it occupies. */
  const begin = (run: StoredRun, listener?: EventListener) =>
    Effect.suspend(() => {
      const slot = slots.get(run.id)
      return execute(run, listener).pipe(
        Effect.catchTag("OwnershipLost", () => Effect.logInfo("a run was taken over or cancelled")),
        Effect.catchCause((cause) =>
          Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logError("a run was interrupted", cause)
        ),
        Effect.ensuring(
          Effect.suspend(() => {
            // Turns wait only where all slots were taken; tasks also for others of their workspace.
            const isAwaited = kind === "task" || free() <= 0
            if (slots.get(run.id) === slot) slots.delete(run.id)
            return Effect.andThen(listener?.end ?? Effect.void, isAwaited ? awake.open : Effect.void)
          })
        ),
        Effect.annotateLogs({ run: run.id }),
        FiberMap.run(running, run.id),
        // It was at work before it could be found here.
        Effect.tap((fiber) => Effect.sync(() => slot?.isLost && fiber.interruptUnsafe()))
      )
    })

  /** Slots that a query is about to fill are nobody else's meanwhile. */
  const fill = (query: (limit: number) => Effect.Effect<ReadonlyArray<StoredRun>, Unavailable>) =>
    Effect.gen(function* () {
      const limit = Math.min(free(), atOnce)
      if (limit <= 0) return false
      reserved += limit
      const since = yield* Clock.currentTimeMillis
      const taken = yield* Effect.ensuring(
        Effect.tap(query(limit), (runs) => Effect.sync(() => occupyAll(runs, since))),
        Effect.sync(() => {
          reserved -= limit
        })
      )
      for (const run of taken) yield* begin(run)
      return taken.length === limit
    }).pipe(Effect.uninterruptible, Effect.repeat({ while: (isMore) => isMore }))

  const claim = fill((limit) => repo.claim({ ...claimant, limit, perWorkspace: runsPerWorkspace }))
  const takeOver = fill((limit) => repo.takeOver({ ...claimant, limit, maxCrashes }))

  const renew = Effect.fnUntraced(function* (ids: ReadonlyArray<RunId>) {
    const held = ids.flatMap((id) => {
      const slot = slots.get(id)
      return slot === undefined ? [] : [{ id, slot }]
    })
    if (held.length === 0) return
    const since = yield* Clock.currentTimeMillis
    const executions = held.map(({ id, slot }) => ({ id, epoch: slot.epoch }))
    const owned = yield* repo.renew(worker, executions, leaseMillis)
    for (const { id, slot } of held) {
      if (owned.has(id)) slot.until = ours(since)
      else if (slots.get(id) === slot) stop(id)
    }
  })

  /** Does not wait for it: one that is slow to stop holds up no other. */
  const stop = (id: RunId) => {
    const slot = slots.get(id)
    if (slot !== undefined) slot.isLost = true
    const fiber = FiberMap.getUnsafe(running, id)
    if (Option.isSome(fiber)) fiber.value.interruptUnsafe()
  }

  const watch = Effect.gen(function* () {
    const at = yield* Clock.currentTimeMillis
    for (const [id, slot] of slots) if (slot.until <= at) stop(id)
  })

  const wait = Effect.andThen(awake.await, Effect.asVoid(awake.close))
  // What others left behind comes first: a node that is full of waiting runs must get to it as well.
  let lookedAt = Number.NEGATIVE_INFINITY
  const take = Effect.gen(function* () {
    const at = yield* Clock.currentTimeMillis
    if (at - lookedAt >= pollMillis && free() > 0) {
      lookedAt = at
      yield* logged("runs not taken over", takeOver)
    }
    yield* logged("runs not claimed", claim)
  })
  yield* take.pipe(
    Effect.andThen(wait.pipe(Effect.timeoutOption(pollMillis))),
    Effect.forever,
    Effect.forkScoped
  )
  yield* Effect.suspend(() => logged("leases not renewed", renew(Array.from(slots.keys())))).pipe(
    Effect.delay(leaseMillis / 3),
    Effect.forever,
    Effect.forkScoped
  )
  yield* watch.pipe(Effect.delay(Math.min(watchMillis, leaseMillis / 20)), Effect.forever, Effect.forkScoped)
  yield* (yield* signals.subscribe).pipe(
    Stream.runForEach((signal) => {
      if (signal.type === "runs") return (signal.kind ?? kind) === kind ? awake.open : Effect.void
      if (signal.type === "watch") return work.watch(signal.id)
      return signal.type === "run" && slots.has(signal.id)
        ? logged("a lease was not renewed", renew([signal.id]))
        : Effect.void
    }),
    Effect.forkScoped
  )
  yield* dispatch.attach(kind, {
    reserve: () => {
      if (free() <= 0) return false
      reserved++
      return true
    },
    giveBack: () => {
      reserved--
    },
    start: (run, since, listener) =>
      Effect.suspend(() => {
        reserved--
        occupy(run, since)
        return Effect.asVoid(begin(run, listener))
      }),
    drain: Effect.fnUntraced(function* (millis) {
      isDraining = true
      yield* Effect.timeoutOption(FiberMap.awaitEmpty(running), millis)
      for (const id of slots.keys()) stop(id)
      yield* Effect.timeoutOption(FiberMap.awaitEmpty(running), settings.databaseTimeoutMillis)
      yield* handBack
    })
  })
})

/** Executes tasks, and looks after what waits and what is over. */
export const layer = Layer.effectDiscard(Effect.andThen(make("task"), RunUpkeep.start))

/** Answers chat turns. */
export const layerTurns = Layer.effectDiscard(make("turn"))
