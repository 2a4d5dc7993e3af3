import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { BudgetExceeded } from "../Schemas/Budget.ts"
import type { PlanLimitExceeded } from "../Schemas/Connector.ts"
import type { NotFound, ReferenceGone, Unavailable } from "../Schemas/Errors.ts"
import type { AgentId, CronJobId, RunId } from "../Schemas/Ids.ts"
import type { Batch, Extent, Place, Range } from "../Schemas/Page.ts"
import type { ByPlan } from "../Schemas/Quotas.ts"
import type { NewRun, RunKind, RunStatus, StoredRun } from "../Schemas/Run.ts"
import type { EventBatch } from "../Schemas/RunEvent.ts"
import type { RunNotRetryable } from "../Schemas/RunRetry.ts"
import type { TurnInput } from "../Schemas/TurnInput.ts"
import type { Spent, Usage } from "../Schemas/Usage.ts"
import type { WorkspaceFilter } from "./Pages.ts"

/** How a run ended, and what it cost; `spent` is kept for when its journal is gone. */
export type RunOutcome = (
  | { readonly status: "COMPLETED"; readonly output: string; readonly usage: Usage }
  | {
      readonly status: "FAILED"
      readonly error: string
      readonly code: string
      readonly usage: Usage
      /** How far an answer came that is not whole. */
      readonly output?: string | undefined
    }
) & { readonly spent?: Spent }

/**
 * One execution of a run: every write proves that it is still the latest. The epoch fences a worker that
 * was away so long that another, or itself, took the run up again.
 */
export interface Execution {
  readonly id: RunId
  readonly worker: string
  readonly epoch: number
}

/** What came of prolonging leases: of which executions, and which are surely not the latest any more. */
export interface Renewal {
  readonly renewed: ReadonlySet<RunId>
  readonly lost: ReadonlySet<RunId>
}

/** Who takes runs up, and which: tasks unless it says turns. */
export interface Claimant {
  readonly worker: string
  readonly kind?: RunKind
  readonly leaseMillis: number
}

/** How many runs of a kind may be RUNNING at the same time, whoever executes them (CONTRACT.md section 5). */
export interface Shares {
  /** In one workspace. */
  readonly perWorkspace: number
  /** In all workspaces that one user made; absent: no limit. */
  readonly perOwner?: number
}

/** Which tasks are listed. */
export interface RunFilter extends WorkspaceFilter {
  readonly status?: RunStatus | undefined
  readonly agentId?: AgentId | undefined
  readonly cronJobId?: CronJobId | undefined
}

/** Which of them: behind one, or without so many. */
export interface RunPart {
  readonly limit: number
  readonly offset: number
  readonly after?: Place | null
}

/**
 * Runs, and which worker executes each of them. Runs are read without what turns are asked (`input`). Leases end by the clock of the store. A turn that is over,
 * however it ended, frees its conversation in the same step. What ends here without whoever executes it (`takeOver`,
 * `release`, `cancel`) is counted here (`Metrics.countEnds`), when it is stored; an end by `finish` by who finished it.
 */
export class RunRepo extends Context.Service<
  RunRepo,
  {
    /**
     * Stores a PENDING run. With `start` it is RUNNING for that worker at once, and true is answered, if
     * its workspace and its owner have fewer RUNNING ones of its kind than they may, and none waits before it in the
     * workspace. `events` are what the run told already. With `mostPending` it is refused where as many of its kind
     * are PENDING in the workspace as its plan allows, exactly, also under concurrent creation; and where what is booked
     * has reached a limit of the month. One with `notBefore` is scheduled: it does not start, is not claimed, and none
     * waits behind it until `makeDue`.
     */
    readonly insert: (
      run: NewRun,
      start?: Claimant & Shares,
      events?: ReadonlyArray<EventBatch>,
      mostPending?: ByPlan
    ) => Effect.Effect<boolean, BudgetExceeded | PlanLimitExceeded | ReferenceGone | Unavailable>
    readonly find: (id: RunId) => Effect.Effect<Option.Option<StoredRun>, Unavailable>
    /** What a turn is asked beside its conversation (up to 1 MiB), if it is there and is asked anything. */
    readonly input: (id: RunId) => Effect.Effect<Option.Option<TurnInput>, Unavailable>
    /**
     * Tasks without their policies, newest first, up to `limit`, the last of which may go over `batchBytes`; `total` counts all that match,
     * whatever is asked for. `ReferenceGone` where there is no task `after` in the workspace.
     */
    readonly list: (
      filter: RunFilter & RunPart
    ) => Effect.Effect<
      { readonly runs: ReadonlyArray<StoredRun>; readonly next: Place | null; readonly total: number },
      ReferenceGone | Unavailable
    >
    /**
     * Puts together what was counted one by one for the totals of lists, up to a moment before: of how many runs that
     * were made or changed. They are exact also without, but then more is read for each. Idempotent, and waits for nobody.
     */
    readonly foldTotals: Effect.Effect<number, Unavailable>
    /** How much that is, as they are listed: no more is read than an answer may have. */
    readonly extent: (filter: RunFilter & RunPart) => Effect.Effect<Extent<Place>, Unavailable>
    /** The first of a range, the last of which may go over `batchBytes`. */
    readonly slice: (
      filter: RunFilter,
      range: Range<Place>
    ) => Effect.Effect<Batch<StoredRun, Place>, Unavailable>
    /**
     * Takes up to `limit` PENDING runs of a kind and makes them RUNNING for the worker. Never more than
     * `perWorkspace` of a workspace are RUNNING, nor `perOwner` of all that one user made, however many claim at the
     * same time; within a workspace those come first that were made first, of those that are due, and workspaces take turns, those with the fewest RUNNING
     * first. A workspace that another claim is just looking at may be left out, and so may all of its owner.
     */
    readonly claim: (
      options: Claimant & Shares & { readonly limit: number }
    ) => Effect.Effect<ReadonlyArray<StoredRun>, Unavailable>
    /**
     * Takes over up to `limit` RUNNING runs that are nobody's any more, of fewest losses first (`Schemas/RunLoss.ts`).
     * A worker is dead when the leases of all that it held, tasks and turns, have ended: this is judged once, whoever
     * asks, and then the runs are nobody's. One that has lost its worker `maxCrashes` times without a step in between
     * becomes FAILED; one that is suspect stays nobody's, and is RUNNING, until this worker may begin it. Nothing is
     * counted where the store was away, as it knows itself or as the caller found, `awayMillis` ago. `ended` is told of
     * those that became FAILED, when that is stored.
     */
    readonly takeOver: (
      options: Claimant & {
        readonly limit: number
        readonly maxCrashes: number
        readonly awayMillis?: number
        readonly ended?: (ids: ReadonlyArray<RunId>) => Effect.Effect<void>
      }
    ) => Effect.Effect<ReadonlyArray<StoredRun>, Unavailable>
    /**
     * Prolongs the leases of those that are still the latest. Waits for nobody: a run that somebody else is just
     * writing is in neither answer, and its lease stays as it was.
     */
    readonly renew: (
      worker: string,
      executions: ReadonlyArray<Pick<Execution, "id" | "epoch">>,
      leaseMillis: number
    ) => Effect.Effect<Renewal, Unavailable>
    /**
     * Writes the end of a run; false when the execution is no longer the latest, or it was cancelled.
     * Idempotent: the same end written again is true again. `events` are kept with it.
     */
    readonly finish: (
      execution: Execution,
      outcome: RunOutcome,
      times: { readonly at: Date; readonly firstTokenAt: Date | null },
      events?: ReadonlyArray<EventBatch>
    ) => Effect.Effect<boolean, Unavailable>
    /**
     * Makes a run that is not over CANCELLED, whoever executes it; what it waited for is EXPIRED. False when it
     * is over, or not there.
     */
    readonly cancel: (id: RunId, at: Date) => Effect.Effect<boolean, Unavailable>
    /**
     * Makes a task that is FAILED or CANCELLED PENDING again (`Schemas/Run.ts`, `retried`), as it is answered: its steps
     * are kept, but for an answer that was not whole (`isPutAside`); working time and losses count anew; what nobody
     * decided about is asked anew; and it tells a `retryEvent`. Of those who do so at the same time one does. With
     * `mostPending` refused as by `insert`, exactly. Nothing else of it changes.
     */
    readonly retry: (
      id: RunId,
      at: Date,
      mostPending?: ByPlan
    ) => Effect.Effect<StoredRun, NotFound | PlanLimitExceeded | RunNotRetryable | Unavailable>
    /** In how many milliseconds the first run is due that is scheduled, by the clock of the store; not above 0: it is. */
    readonly untilDue: Effect.Effect<Option.Option<number>, Unavailable>
    /**
     * Lets up to `limit` scheduled runs wait like others that are due, each once, whoever asks: of how many. Waits for
     * nobody: a run that somebody just writes is left for another time.
     */
    readonly makeDue: (limit: number) => Effect.Effect<number, Unavailable>
    /**
     * Hands runs of a worker back, of one kind: all, or these executions alone. PENDING again, for any worker to take;
     * those that are suspect are nobody's, as in `takeOver`. With `crashed` the worker is known to have died with all
     * that it held, whatever the kind: it is judged as in `takeOver`, and nobody's.
     */
    readonly release: (
      worker: string,
      options: {
        readonly kind?: RunKind
        readonly executions?: ReadonlyArray<Pick<Execution, "id" | "epoch">>
        readonly crashed: boolean
        readonly maxCrashes: number
      }
    ) => Effect.Effect<void, Unavailable>
    /**
     * Forgets what is kept of runs that were over before a moment, up to `limit` of each: the events first, then the
     * journal and approvals of tasks, and turns altogether; with `runsBefore` runs of either kind, with all that there
     * still is of them. What names them lets go of them: a fire of the ledger has none then. Answers of how many.
     */
    readonly prune: (options: {
      readonly eventsBefore: Date
      readonly journalsBefore: Date
      readonly runsBefore?: Date | undefined
      readonly limit: number
    }) => Effect.Effect<number, Unavailable>
  }
>()("agentd/Services/RunRepo") {}
