import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Budget, CallBound, Permission, Reached, Spending, Standing } from "../Schemas/Budget.ts"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { WorkspaceId } from "../Schemas/Ids.ts"
import type { Execution } from "./RunRepo.ts"

/** A call of a model that is about to begin: what it may cost at most, and what its run has spent before it. */
export interface Call {
  readonly execution: Execution
  readonly workspaceId: WorkspaceId
  readonly bound: CallBound
  readonly run: Spending
}

/**
 * What workspaces may spend on models (CONTRACT.md section 11), and what calls that are under way hold of it. Months are
 * by the clock of the store. The statement that journals an answer takes what was held for it away and books what it
 * cost (`RunJournal.record`).
 */
export class BudgetRepo extends Context.Service<
  BudgetRepo,
  {
    /** None: there is no such workspace. Without a limit all are null. */
    readonly find: (workspaceId: WorkspaceId) => Effect.Effect<Option.Option<Budget>, Unavailable>
    /** Replaces the whole; calls that begin from now on meet it. False where the workspace is gone. */
    readonly put: (workspaceId: WorkspaceId, budget: Budget) => Effect.Effect<boolean, Unavailable>
    /** How it stands in this month, all of one moment. */
    readonly standing: (
      workspaceId: WorkspaceId
    ) => Effect.Effect<{ readonly month: string; readonly standing: Standing }, Unavailable>
    /** The limit of the month that what is booked has reached, for who is to begin no more work. */
    readonly reached: (workspaceId: WorkspaceId) => Effect.Effect<Option.Option<Reached>, Unavailable>
    /**
     * Decides by `permissionOf` whether a call may begin and holds what it may cost at most, in one step, however many
     * ask at the same time. `none`: the workspace has no limit, and nothing is held. `lost`: the execution is no longer
     * the latest. Idempotent: an execution holds something for one call at a time.
     */
    readonly reserve: (call: Call) => Effect.Effect<Permission, Unavailable>
    /**
     * Takes away what an execution holds. `released`: the model surely never had the question. `lost`: nobody knows
     * what the call cost, and the most that it may have cost counts to the month. Idempotent.
     */
    readonly settle: (execution: Execution, how: "released" | "lost") => Effect.Effect<void, Unavailable>
    /**
     * Counts as lost what up to `limit` executions hold that can't write any more: their runs are over, or have later
     * ones. It counts so before already for whoever asks how a workspace stands, as does what is held by whose lease
     * ended a while ago. Waits for nobody. Answers of how many.
     */
    readonly bury: (limit: number) => Effect.Effect<number, Unavailable>
  }
>()("agentd/Services/BudgetRepo") {}
