import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { RunKind } from "../../Schemas/Run.ts"
import type { Executions } from "./Executions.ts"

/** An executor of this process, as those who make runs see it. */
export interface LocalExecutor extends Pick<Executions, "reserve" | "giveBack" | "begin"> {
  /** Takes nothing new, waits `millis` at most for what is under way, and hands the rest back. */
  readonly drain: (millis: number) => Effect.Effect<void>
}

/** Lets a run begin in this process without waiting for a claim, if an executor of its kind runs here. */
export class Dispatch extends Context.Service<
  Dispatch,
  {
    /** Until the scope closes. */
    readonly attach: (kind: RunKind, executor: LocalExecutor) => Effect.Effect<void, never, Scope.Scope>
    readonly local: (kind: RunKind) => Effect.Effect<LocalExecutor | undefined>
  }
>()("agentd/Services/Engine/Dispatch") {
  static readonly layer = Layer.sync(Dispatch, () => {
    const attached = new Map<RunKind, LocalExecutor>()
    return Dispatch.of({
      attach: (kind, executor) =>
        Effect.acquireRelease(
          Effect.sync(() => void attached.set(kind, executor)),
          () => Effect.sync(() => void attached.delete(kind))
        ),
      local: (kind) => Effect.sync(() => attached.get(kind))
    })
  })
}
