import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { StoredRun } from "../Schemas/Run.ts"

/** The executor of this process, as those who make runs see it. */
export interface LocalExecutor {
  /** Takes a free slot of this node, if there is one. */
  readonly reserve: () => boolean
  /** Gives a slot back that was reserved and is not needed. */
  readonly giveBack: () => void
  /** Executes a run that this worker owns, in a reserved slot. */
  readonly start: (run: StoredRun, since: number) => Effect.Effect<void>
}

/** Lets a run begin in this process without waiting for a claim, if an executor runs here. */
export class RunDispatch extends Context.Service<
  RunDispatch,
  {
    /** Until the scope closes. */
    readonly attach: (executor: LocalExecutor) => Effect.Effect<void, never, Scope.Scope>
    readonly local: Effect.Effect<LocalExecutor | undefined>
  }
>()("agentd/Services/RunDispatch") {
  static readonly layer = Layer.sync(RunDispatch, () => {
    let attached: LocalExecutor | undefined
    return RunDispatch.of({
      attach: (executor) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            attached = executor
          }),
          () =>
            Effect.sync(() => {
              attached = undefined
            })
        ),
      local: Effect.sync(() => attached)
    })
  })
}
