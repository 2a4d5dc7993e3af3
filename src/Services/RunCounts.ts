import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { RunKind } from "../Schemas/Run.ts"

/** How many runs of a kind are not over: PENDING and due, RUNNING, and WAITING_APPROVAL. */
export interface RunCount {
  readonly waiting: number
  readonly running: number
  readonly parked: number
  /** Since the first of a workspace that waits does so, by the clock of the store; 0 where none waits. */
  readonly oldestWaitingSeconds: number
}

/** What is to be done and being done, in the whole store: all workspaces, all nodes. */
export class RunCounts extends Context.Service<
  RunCounts,
  {
    /** Looks at what is not over and at nothing else, however much is over. */
    readonly read: Effect.Effect<Readonly<Record<RunKind, RunCount>>, Unavailable>
  }
>()("agentd/Services/RunCounts") {}
