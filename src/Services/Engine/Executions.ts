import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Capacity from "../../Schemas/Capacity.ts"
import type { OwnershipLost } from "../../Schemas/Execution.ts"
import type { RunId } from "../../Schemas/Ids.ts"
import type { StoredRun } from "../../Schemas/Run.ts"
import { monotonicMillis } from "../CurrentTime.ts"
import * as DatabaseWait from "../DatabaseWait.ts"
import { Lease } from "../Lease.ts"
import type { Renewal } from "../RunRepo.ts"
import type { EventListener } from "./LiveEvents.ts"

/** The executions of one kind on this node. It alone changes which there are, and it alone has their fibers. */
export interface Executions {
  /** Sets places aside for up to `wanted` runs; answers for how many. */
  readonly reserve: (wanted: number) => number
  readonly giveBack: (count: number) => void
  /**
   * Executes runs that this worker owns in `reserved` places, of which those that are left over fall free. `since`
   * is when their leases were asked for.
   */
  readonly begin: (
    runs: ReadonlyArray<StoredRun>,
    how: { readonly reserved: number; readonly since: number; readonly listener?: EventListener | undefined }
  ) => Effect.Effect<void>
  readonly hasPlaces: () => boolean
  readonly held: () => ReadonlyArray<Capacity.ExecutionKey>
  /**
   * What came of asking for these leases at `since`: those that are surely not ours any more are stopped; what is
   * not known stays ours until its lease ends.
   */
  readonly settleRenewal: (
    asked: ReadonlyArray<Capacity.ExecutionKey>,
    renewal: Renewal,
    since: number
  ) => void
  /** Stops those whose lease has ended. */
  readonly expire: Effect.Effect<void>
  /**
   * Nothing is reserved any more. Waits `millis` at most for what is under way, and for what is about to begin in
   * reserved places; from `stepMillis` on no further step begins. Then stops the rest, and waits `stoppingMillis` at
   * most for that.
   */
  readonly drain: (how: {
    readonly stepMillis: number
    readonly millis: number
    readonly stoppingMillis: number
  }) => Effect.Effect<void>
}

/** Interrupts who asks when the lease of its execution has ended, as `expire` finds too, or it is lost. */
const leaseOf = (isOurs: (at: number) => boolean, expire: Effect.Effect<void>) =>
  Effect.flatMap(monotonicMillis, (at) =>
    isOurs(at) ? Effect.void : Effect.andThen(Effect.uninterruptible(expire), Effect.interrupt)
  )

/** Stops those whose lease has ended, and tells how many they were. */
const expireAll = (
  capacity: () => Capacity.Capacity,
  stop: (execution: Capacity.ExecutionKey) => void,
  tell: (count: number) => Effect.Effect<void>
) =>
  Effect.flatMap(monotonicMillis, (at) => {
    const over = Capacity.expired(capacity(), at)
    for (const execution of over) stop(execution)
    return over.length === 0 ? Effect.void : tell(over.length)
  })

/** It may ask for its lease (`Lease`), and how it broke off is told. */
const underLease = (execution: Effect.Effect<void, OwnershipLost>, lease: Effect.Effect<void>) =>
  execution.pipe(
    Effect.provideService(Lease, lease),
    Effect.catchTag("OwnershipLost", () => Effect.logInfo("a run was taken over or cancelled")),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logError("an execution broke off", cause)
    )
  )

export const make: (options: {
  readonly most: number
  readonly leaseMillis: number
  readonly execute: (run: StoredRun, listener?: EventListener) => Effect.Effect<void, OwnershipLost>
  /** So many were stopped since their leases had ended. */
  readonly expired: (count: number) => Effect.Effect<void>
  /** No further step begins in what is executed. */
  readonly stopSteps: Effect.Effect<void>
  /** A place fell free; all were taken, or not. */
  readonly freed: (wasFull: boolean) => Effect.Effect<unknown>
}) => Effect.Effect<Executions, never, Scope.Scope> = Effect.fnUntraced(function* ({
  execute,
  expired,
  freed,
  leaseMillis,
  most,
  stopSteps
}) {
  const fibers = yield* FiberMap.make<RunId, void, never>()
  const nothingReserved = yield* Latch.make(true)
  let capacity = Capacity.idle(most)

  const tellReserved = () => {
    if (capacity.reserved === 0) nothingReserved.openUnsafe()
    else nothingReserved.closeUnsafe()
  }
  const allEnded = Effect.andThen(nothingReserved.await, FiberMap.awaitEmpty(fibers))

  /** Does not wait for it: one that is slow to stop holds up no other. */
  const stop = (execution: Capacity.ExecutionKey) => {
    if (Capacity.placeOf(capacity, execution) === undefined) return
    capacity = Capacity.lose(capacity, execution)
    const fiber = FiberMap.getUnsafe(fibers, execution.id)
    if (Option.isSome(fiber)) fiber.value.interruptUnsafe()
  }

  const expire = expireAll(() => capacity, stop, expired)

  const ended = (run: StoredRun, listener: EventListener | undefined) =>
    Effect.suspend(() => {
      const wasFull = Capacity.free(capacity) <= 0
      capacity = Capacity.vacate(capacity, run)
      return Effect.andThen(listener?.end ?? Effect.void, freed(wasFull))
    })

  const fork = (run: StoredRun, listener: EventListener | undefined) =>
    underLease(
      execute(run, listener),
      leaseOf((at) => Capacity.isOurs(capacity, run, at), expire)
    ).pipe(
      Effect.ensuring(ended(run, listener)),
      Effect.annotateLogs({ runId: run.id }),
      DatabaseWait.apart,
      FiberMap.run(fibers, run.id),
      // It may have been told to stop before its fiber could be found.
      Effect.tap((fiber) =>
        Effect.sync(() => Capacity.placeOf(capacity, run)?.isLost && fiber.interruptUnsafe())
      )
    )

  return {
    reserve: (wanted) => {
      const reserved = Capacity.reserve(capacity, wanted)
      capacity = reserved.capacity
      tellReserved()
      return reserved.granted
    },
    giveBack: (count) => {
      capacity = Capacity.giveBack(capacity, count)
      tellReserved()
    },
    begin: (runs, { listener, reserved, since }) =>
      Effect.suspend(() => {
        const until = Capacity.oursUntil(since, leaseMillis)
        capacity = Capacity.occupy(capacity, runs, { reserved, until })
        const begun = Effect.forEach(runs, (run) => fork(run, listener), { discard: true })
        return Effect.ensuring(begun, Effect.sync(tellReserved))
      }),
    hasPlaces: () => Capacity.free(capacity) > 0,
    held: () => Capacity.executions(capacity),
    settleRenewal: (asked, { lost, renewed }, since) => {
      const until = Capacity.oursUntil(since, leaseMillis)
      for (const execution of asked) {
        if (renewed.has(execution.id)) capacity = Capacity.renew(capacity, execution, until)
        else if (lost.has(execution.id)) stop(execution)
      }
    },
    expire,
    drain: Effect.fnUntraced(function* ({ millis, stepMillis, stoppingMillis }) {
      capacity = Capacity.drain(capacity)
      if (stepMillis > 0) yield* Effect.timeoutOption(allEnded, stepMillis)
      yield* stopSteps
      yield* Effect.timeoutOption(allEnded, millis - stepMillis)
      Capacity.executions(capacity).forEach(stop)
      yield* Effect.timeoutOption(allEnded, stoppingMillis)
    })
  }
})
