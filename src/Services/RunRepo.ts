import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { AgentId, CronJobId, ProjectId, RunId, WorkspaceId } from "../Schemas/Ids.ts"
import type { RunStatus, StoredRun } from "../Schemas/Run.ts"
import type { Usage } from "../Schemas/Usage.ts"

/** How a run ended, and what it cost. */
export type RunOutcome =
  | { readonly status: "COMPLETED"; readonly output: string; readonly usage: Usage }
  | { readonly status: "FAILED"; readonly error: string; readonly usage: Usage }

/** Runs, and which worker executes each of them. */
export class RunRepo extends Context.Service<
  RunRepo,
  {
    readonly insert: (run: StoredRun) => Effect.Effect<void, Unavailable>
    readonly find: (id: RunId) => Effect.Effect<Option.Option<StoredRun>, Unavailable>
    /** Newest first; `total` counts all that match, whatever `limit` and `offset`. */
    readonly list: (filter: {
      readonly workspaceId: WorkspaceId
      readonly projectId?: ProjectId | undefined
      readonly status?: RunStatus | undefined
      readonly agentId?: AgentId | undefined
      readonly cronJobId?: CronJobId | undefined
      readonly limit: number
      readonly offset: number
    }) => Effect.Effect<{ readonly runs: ReadonlyArray<StoredRun>; readonly total: number }, Unavailable>
    /**
     * Takes up to `limit` runs that wait, or whose worker's lease ended, oldest first, and makes them
     * RUNNING for `worker` until `leaseMillis` from now by the clock of the store. No run goes to two
     * workers at the same time.
     */
    readonly claim: (options: {
      readonly worker: string
      readonly limit: number
      readonly leaseMillis: number
    }) => Effect.Effect<ReadonlyArray<StoredRun>, Unavailable>
    /** Prolongs the leases of the worker's runs and returns the ids of those that it still owns. */
    readonly renew: (
      worker: string,
      ids: ReadonlyArray<RunId>,
      leaseMillis: number
    ) => Effect.Effect<ReadonlySet<RunId>, Unavailable>
    /** Writes the end of a run, if `worker` still owns it; false when it does not. */
    readonly finish: (
      id: RunId,
      worker: string,
      outcome: RunOutcome,
      at: Date
    ) => Effect.Effect<boolean, Unavailable>
    /** Hands unfinished runs back: PENDING again, for any worker to take. */
    readonly release: (worker: string) => Effect.Effect<void, Unavailable>
  }
>()("agentd/Services/RunRepo") {}
