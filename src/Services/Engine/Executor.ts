import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Stream from "effect/Stream"
import { renewMillis } from "../../Schemas/Capacity.ts"
import type { RunKind, StoredRun } from "../../Schemas/Run.ts"
import * as Metrics from "../Metrics.ts"
import { RunRepo } from "../RunRepo.ts"
import { Settings } from "../Settings.ts"
import { Signals } from "../Signals.ts"
import { AwaitedRuns } from "./AwaitedRuns.ts"
import * as Claims from "./Claims.ts"
import * as Draining from "./Draining.ts"
import * as Executions from "./Executions.ts"
import * as Leases from "./Leases.ts"
import type { EventListener } from "./LiveEvents.ts"
import { LocalExecutors } from "./LocalExecutors.ts"
import * as Outages from "./Outages.ts"
import * as Queue from "./Queue.ts"
import { Work } from "./Work.ts"

/**
 * Executes runs of one kind in the background, a bounded number of them at the same time. They come here in three
 * ways: made here while a place is free (`Engine.submit`), claimed as places fall free, and taken over when the
 * lease of a worker that is gone has ended (`Claims`).
 * A database that is away stops nothing while the lease may still be ours: what was to be written is tried
 * again. A run that another has taken over, or that was cancelled, is interrupted. Closing it hands
 * unfinished runs back; those that a former process of this name held when it died are nobody's then.
 */
export const start = Effect.fnUntraced(function* (kind: RunKind) {
  const awaited = yield* AwaitedRuns
  const executors = yield* LocalExecutors
  const repo = yield* RunRepo
  const { databaseTimeoutMillis, leaseMillis, maxCrashes, runConcurrency, turnConcurrency, worker } =
    yield* Settings
  const signals = yield* Signals
  const work = yield* Work
  const most = kind === "task" ? runConcurrency : turnConcurrency

  yield* executors.settleFormer
  const handBack = (executions?: ReadonlyArray<StoredRun>) =>
    repo.release(worker, { kind, crashed: false, maxCrashes, ...(executions && { executions }) }).pipe(
      Effect.andThen(signals.publish({ type: "runs", kind })),
      Effect.catch(({ error }) => Effect.annotateLogs(Effect.logWarning("runs not handed back"), { error }))
    )
  // The first of the finalizers, and so the last that runs: the fibers have ended then.
  yield* Effect.addFinalizer(() => handBack())

  const awake = yield* Latch.make(false)
  const { begin: stopSteps, draining } = yield* Draining.make
  const execute = (run: StoredRun, listener?: EventListener) =>
    work.execute(run, listener).pipe(
      Effect.provideService(Draining.Draining, draining),
      // No step begins any more: others may have it at once.
      Effect.flatMap((status) => {
        if (status === "RUNNING") return handBack([run])
        return status === "COMPLETED" || status === "FAILED" ? Metrics.countEnds(kind, status) : Effect.void
      }),
      // Also where it was interrupted: its end may have been stored.
      Effect.ensuring(awaited.left(run.id))
    )
  const queue = Queue.make()
  // Turns begin as they are made, as a rule: the end of one is to cost no query that finds nothing.
  const isAwaited = kind === "task" ? Effect.succeed(true) : queue.mayWait
  const executions = yield* Executions.make({
    most,
    leaseMillis,
    execute,
    expired: (count) => Metrics.countExpired(kind, count),
    stopSteps,
    freed: (wasFull) => Effect.when(awake.open, wasFull ? Effect.succeed(true) : isAwaited)
  })
  yield* Metrics.observe(Metrics.nodeRuns, { kind }, () => executions.held().length)
  yield* Metrics.observe(Metrics.nodePlaces, { kind }, () => most)
  const outages = Outages.make(renewMillis(leaseMillis))
  yield* Claims.start({ kind, most, executions, outages, awake, queue })
  const leases = yield* Leases.start(executions, outages)
  yield* (yield* signals.subscribe).pipe(
    Stream.runForEach((signal) => {
      if (signal.type === "runs") {
        return (signal.kind ?? kind) === kind ? Effect.andThen(queue.seen, awake.open) : Effect.void
      }
      return signal.type === "run" ? leases.check(signal.id) : Effect.void
    }),
    Effect.forkScoped
  )
  yield* executors.attach(kind, {
    reserve: executions.reserve,
    giveBack: executions.giveBack,
    begin: executions.begin,
    drain: (millis) => {
      // Of turns somebody reads the answer here; what they begin then has time to end.
      const stepMillis = kind === "task" ? 0 : millis / 2
      const drained = executions.drain({ stepMillis, millis, stoppingMillis: databaseTimeoutMillis })
      return Effect.andThen(drained, handBack())
    }
  })
})
