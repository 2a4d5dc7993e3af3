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

/**
 * One execution of a run: every write proves that it is still the latest. The epoch fences a worker that
 * was away so long that another, or itself, took the run up again.
 */
export interface Execution {
  readonly id: RunId
  readonly worker: string
  readonly epoch: number
}

/** Who takes runs up, and what it may take. */
export interface Claimant {
  readonly worker: string
  readonly leaseMillis: number
}

/** Runs, and which worker executes each of them. Leases end by the clock of the store. */
export class RunRepo extends Context.Service<
  RunRepo,
  {
    /**
     * Stores a PENDING run. With `start` it is RUNNING for that worker at once, and true is answered, if
     * its workspace has fewer than `perWorkspace` RUNNING ones and none that waits before it.
     */
    readonly insert: (
      run: StoredRun,
      start?: Claimant & { readonly perWorkspace: number }
    ) => Effect.Effect<boolean, Unavailable>
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
     * Takes up to `limit` PENDING runs and makes them RUNNING for the worker. Never more than
     * `perWorkspace` of a workspace are RUNNING, however many claim at the same time; within a workspace the
     * oldest come first, and workspaces take turns, those with the fewest RUNNING first. A workspace that
     * another claim is just looking at may be left out.
     */
    readonly claim: (
      options: Claimant & { readonly limit: number; readonly perWorkspace: number }
    ) => Effect.Effect<ReadonlyArray<StoredRun>, Unavailable>
    /**
     * Takes over up to `limit` RUNNING runs whose worker's lease ended. One that has lost its worker
     * `maxCrashes` times without a step in between becomes FAILED instead and is not answered. A worker that
     * takes its own run over was away for a while, which counts for nothing.
     */
    readonly takeOver: (
      options: Claimant & { readonly limit: number; readonly maxCrashes: number }
    ) => Effect.Effect<ReadonlyArray<StoredRun>, Unavailable>
    /** Prolongs the leases and returns the ids of the executions that are still the latest. */
    readonly renew: (
      worker: string,
      executions: ReadonlyArray<Pick<Execution, "id" | "epoch">>,
      leaseMillis: number
    ) => Effect.Effect<ReadonlySet<RunId>, Unavailable>
    /**
     * Writes the end of a run; false when the execution is no longer the latest, or it was cancelled.
     * Idempotent: the same end written again is true again.
     */
    readonly finish: (
      execution: Execution,
      outcome: RunOutcome,
      times: { readonly at: Date; readonly firstTokenAt: Date | null }
    ) => Effect.Effect<boolean, Unavailable>
    /**
     * Makes a run that is not over CANCELLED, whoever executes it; what it waited for is EXPIRED. False when it
     * is over, or not there.
     */
    readonly cancel: (id: RunId, at: Date) => Effect.Effect<boolean, Unavailable>
    /**
     * Hands the runs of a worker back: PENDING again, for any worker to take. With `crashed` the worker is
     * known to have died with them, which counts as in `takeOver`.
     */
    readonly release: (
      worker: string,
      options: { readonly crashed: boolean; readonly maxCrashes: number }
    ) => Effect.Effect<void, Unavailable>
  }
>()("agentd/Services/RunRepo") {}
