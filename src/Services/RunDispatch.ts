import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { RunKind, StoredRun } from "../Schemas/Run.ts"
import type { EventListener } from "./LiveEvents.ts"

/** An executor of this process, as those who make runs see it. */
export interface LocalExecutor {
  /** Takes a free slot of this node, if there is one. */
  readonly reserve: () => boolean
  /** Gives a slot back that was reserved and is not needed. */
  readonly giveBack: () => void
  /** Executes a run that this worker owns, in a reserved slot. */
  readonly start: (run: StoredRun, since: number, listener?: EventListener) => Effect.Effect<void>
  /** Takes nothing new, waits `millis` at most for what is under way, and hands the rest back. */
  readonly drain: (millis: number) => Effect.Effect<void>
}

/** Lets a run begin in this process without waiting for a claim, if an executor of its kind runs here. */
export class RunDispatch extends Context.Service<
  RunDispatch,
  {
    /** Until the scope closes. */
    readonly attach: (kind: RunKind, executor: LocalExecutor) => Effect.Effect<void, never, Scope.Scope>
    readonly local: (kind: RunKind) => Effect.Effect<LocalExecutor | undefined>
  }
>()("agentd/Services/RunDispatch") {
  static readonly layer = Layer.sync(RunDispatch, () => {
    const attached = new Map<RunKind, LocalExecutor>()
    return RunDispatch.of({
      attach: (kind, executor) =>
        Effect.acquireRelease(
          Effect.sync(() => void attached.set(kind, executor)),
          () => Effect.sync(() => void attached.delete(kind))
        ),
      local: (kind) => Effect.sync(() => attached.get(kind))
    })
  })
}
