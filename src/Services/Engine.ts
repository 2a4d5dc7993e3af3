import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { kindOf, type RunKind, type StoredRun } from "../Schemas/Run.ts"
import { monotonicMillis } from "./CurrentTime.ts"
import { AgentLoop } from "./Engine/AgentLoop.ts"
import { AwaitedRuns } from "./Engine/AwaitedRuns.ts"
import { BudgetNews } from "./Engine/BudgetNews.ts"
import * as Executor from "./Engine/Executor.ts"
import { Flusher } from "./Engine/Flusher.ts"
import type { EventListener } from "./Engine/LiveEvents.ts"
import { LocalExecutors } from "./Engine/LocalExecutors.ts"
import { Readers } from "./Engine/Readers.ts"
import * as Removals from "./Engine/Removals.ts"
import { RunEvents } from "./Engine/RunEvents.ts"
import * as Upkeep from "./Engine/Upkeep.ts"
import { Waits } from "./Engine/Waits.ts"
import { WatchedRuns } from "./Engine/WatchedRuns.ts"
import { Work } from "./Engine/Work.ts"
import type { Claimant, Shares } from "./RunRepo.ts"
import { Settings, sharesOf } from "./Settings.ts"
import { Signals } from "./Signals.ts"
import { Transaction } from "./Transaction.ts"

/** For whom a run may begin in the statement that stores it. */
export type Start = Claimant & Shares

/**
 * Where runs and turns are executed (CONTRACT.md section 5): what is submitted is stored, and then executed on
 * this node or another, whatever happens to any of them.
 *
 * The way of a run: it is submitted here, or claimed or taken over by `Claims`, for a place of `Executions`, which has
 * its fiber. `Work` performs it: `AgentLoop` asks the model (`AskModel`) and makes its calls (`CallTools`) on the tools
 * that it was shown (`Toolbox`), each a `Step` that `ExecutionLog` writes with what was told meanwhile. Then it is
 * over (`Finish`), or waits for people (`Park`) and comes back as a claim. All the while `Leases` keeps it ours, or
 * stops it.
 *
 * The way of an event: to whoever submitted it by `LiveEvents`, as it happens; to all other readers, on any node, by
 * `RunEvents` from the store, woken by `Watch`; to each for as long as `Readers` lets it read. Who waits for the end
 * alone (`Waits`) is told by the node that executed it (`AwaitedRuns`).
 */
export class Engine extends Context.Service<
  Engine,
  {
    /**
     * Stores a new run by `store`, and sees to it that somebody executes it. If this node has room, `store` is
     * asked to make it RUNNING here, and answers whether it did; then it begins at once, its events go to
     * `listener`, and true is answered. Else it waits, and all nodes are told. Not interruptible: what was stored
     * gets one or the other. Where it was stored and the answer of the store is lost, its lease ends first. Within a
     * transaction it waits, and nodes are told with the commit: none begins before. A run that is not to begin before
     * a time (`notBefore`) is stored alone: when it is due it waits like any other.
     */
    readonly submit: <E, R>(
      run: StoredRun,
      store: (start?: Start) => Effect.Effect<boolean, E, R>,
      listener?: EventListener
    ) => Effect.Effect<boolean, E, R>
    /**
     * Takes no more runs of this kind, and waits `millis` at most for those under way. Of tasks no further step begins,
     * of turns, which somebody reads here, none in the second half of that time: each is handed back as soon as the
     * steps are kept that were under way. In the end it stops the rest and hands it back, which takes as long as the
     * store may take to answer.
     */
    readonly drain: (kind: RunKind, millis: number) => Effect.Effect<void>
  }
>()("agentd/Services/Engine") {
  static readonly layer = Layer.effect(
    Engine,
    Effect.gen(function* () {
      const executors = yield* LocalExecutors
      const settings = yield* Settings
      const { leaseMillis, worker } = settings
      const signals = yield* Signals
      const transaction = yield* Transaction

      const submit = Effect.fnUntraced(function* <E, R>(
        run: StoredRun,
        store: (start?: Start) => Effect.Effect<boolean, E, R>,
        listener?: EventListener
      ) {
        const kind = kindOf(run)
        if (run.notBefore !== null) {
          yield* store()
          // It may be due before all others that are.
          yield* signals.publish({ type: "cron" })
          return false
        }
        const local = (yield* transaction.isOpen) ? undefined : yield* executors.local(kind)
        const reserved = local?.reserve(1) ?? 0
        if (local === undefined || reserved === 0) {
          yield* store()
          yield* signals.publish({ type: "runs", kind })
          return false
        }
        const since = yield* monotonicMillis
        const start = { worker, leaseMillis, ...sharesOf(settings, kind) }
        const isOurs = yield* Effect.onError(store(start), () => Effect.sync(() => local.giveBack(reserved)))
        if (isOurs) {
          const begun: StoredRun = { ...run, status: "RUNNING", attempts: 1, epoch: 1 }
          yield* local.begin([begun], { reserved, since, listener })
          return true
        }
        local.giveBack(reserved)
        yield* signals.publish({ type: "runs", kind })
        return false
      }, Effect.uninterruptible)

      return Engine.of({
        submit,
        drain: (kind, millis) =>
          Effect.flatMap(executors.local(kind), (local) => local?.drain(millis) ?? Effect.void)
      })
    })
  )
}

/** The engine over its ports. No fiber of it executes anything by itself: that takes an executor. */
export const layer = Layer.mergeAll(
  Engine.layer,
  Readers.layer,
  RunEvents.layer,
  Waits.layer,
  Work.layer
).pipe(
  Layer.provideMerge(
    Layer.mergeAll(AgentLoop.layer, AwaitedRuns.layer, BudgetNews.layer, Flusher.layer, LocalExecutors.layer)
  ),
  Layer.provideMerge(WatchedRuns.layer)
)

/** Executes tasks, and looks after what waits, what is over, and what was deleted. */
export const layerTasks = Layer.effectDiscard(
  Executor.start("task").pipe(Effect.andThen(Upkeep.start), Effect.andThen(Removals.start))
)

/** Answers chat turns. */
export const layerTurns = Layer.effectDiscard(Executor.start("turn"))
