import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Unavailable } from "../../Schemas/Errors.ts"
import type { RunKind } from "../../Schemas/Run.ts"
import { RunRepo } from "../RunRepo.ts"
import { Settings } from "../Settings.ts"
import type { Executions } from "./Executions.ts"

/** An executor of this process, as those who make runs see it. */
export interface LocalExecutor extends Pick<Executions, "reserve" | "giveBack" | "begin"> {
  /** As `Executions.drain`, and then hands back what was not over. */
  readonly drain: (millis: number) => Effect.Effect<void>
}

/** The executors of this process: by them a run begins here without waiting for a claim. */
export class LocalExecutors extends Context.Service<
  LocalExecutors,
  {
    /** Until the scope closes. */
    readonly attach: (kind: RunKind, executor: LocalExecutor) => Effect.Effect<void, never, Scope.Scope>
    /** Runs that a former process of this name held when it died are nobody's then: found out once, for both kinds. */
    readonly settleFormer: Effect.Effect<void, Unavailable>
    readonly local: (kind: RunKind) => Effect.Effect<LocalExecutor | undefined>
  }
>()("agentd/Services/Engine/LocalExecutors") {
  static readonly layer = Layer.effect(
    LocalExecutors,
    Effect.gen(function* () {
      const repo = yield* RunRepo
      const { maxCrashes, worker } = yield* Settings
      const attached = new Map<RunKind, LocalExecutor>()
      return LocalExecutors.of({
        settleFormer: yield* Effect.cached(repo.release(worker, { crashed: true, maxCrashes })),
        attach: (kind, executor) =>
          Effect.acquireRelease(
            Effect.sync(() => void attached.set(kind, executor)),
            () => Effect.sync(() => void attached.delete(kind))
          ),
        local: (kind) => Effect.sync(() => attached.get(kind))
      })
    })
  )
}
