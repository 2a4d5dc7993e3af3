import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { StoredApproval } from "../Schemas/Approval.ts"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { ApprovalId, RunId, UserId, WorkspaceId } from "../Schemas/Ids.ts"
import type { EventBatch } from "../Schemas/RunEvent.ts"
import type { Execution } from "./RunRepo.ts"

/** What waits for people. Approvals expire by the clock of the store. */
export class ApprovalRepo extends Context.Service<
  ApprovalRepo,
  {
    /**
     * Makes the run WAITING_APPROVAL and stores what it waits for, in one step, if the execution is still
     * the latest; false when it is not. A call of a run is asked about once. `events` are kept with it,
     * and when the run first said something, unless that is known.
     */
    readonly park: (
      execution: Execution,
      approvals: ReadonlyArray<StoredApproval>,
      events?: ReadonlyArray<EventBatch>,
      firstTokenAt?: Date | null
    ) => Effect.Effect<boolean, Unavailable>
    /** All of a run, oldest first. */
    readonly ofRun: (run: RunId) => Effect.Effect<ReadonlyArray<StoredApproval>, Unavailable>
    /** Those that wait in a workspace, oldest first. */
    readonly waiting: (filter: {
      readonly workspaceId: WorkspaceId
      readonly limit: number
      readonly offset: number
    }) => Effect.Effect<ReadonlyArray<StoredApproval>, Unavailable>
    readonly find: (id: ApprovalId) => Effect.Effect<Option.Option<StoredApproval>, Unavailable>
    /**
     * Decides about a call that still waits; the first decision wins, false for any other. When nothing of
     * the run waits any more it is PENDING again, for any worker to take.
     */
    readonly decide: (
      id: ApprovalId,
      decision: {
        readonly status: "APPROVED" | "REJECTED"
        readonly reason: string | null
        readonly decidedBy: UserId
        readonly decidedAt: Date
      }
    ) => Effect.Effect<boolean, Unavailable>
    /**
     * Ends up to `limit` runs that wait for too long: FAILED, with the reason. Answers which, and counts them
     * (`Metrics.countEnds`).
     */
    readonly expire: (limit: number) => Effect.Effect<ReadonlyArray<RunId>, Unavailable>
  }
>()("agentd/Services/ApprovalRepo") {}
