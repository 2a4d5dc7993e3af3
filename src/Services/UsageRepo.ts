import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { RunId, WorkspaceId } from "../Schemas/Ids.ts"
import type { Spent } from "../Schemas/Usage.ts"
import type { UsageGroup, UsagePeriod, UsageSum } from "../Schemas/UsageReport.ts"

/** What a workspace has booked in a month. */
export interface Booked {
  /** Read and written. */
  readonly tokens: number
  /** Of the calls whose cost is known, in billionths of a US dollar. */
  readonly costNanos: number
  /** Calls whose cost is not known. */
  readonly unknownCalls: number
}

/**
 * What was used: each step counts once, with the statement that journals it (`RunJournal.record`), on the UTC day of
 * then by the clock of the store, whatever becomes of its run, agent, job or key. A run counts with its first step.
 */
export class UsageRepo extends Context.Service<
  UsageRepo,
  {
    /**
     * Sums by a group, of whole days, exact at every moment: days in order, of all else what has the most tokens first, then by
     * the key. At most `most` have a row of their own; all others are one last row, of the key `other`.
     */
    readonly sums: (
      filter: UsagePeriod & {
        readonly workspaceId: WorkspaceId
        readonly groupBy: UsageGroup
        readonly most: number
      }
    ) => Effect.Effect<ReadonlyArray<UsageSum>, Unavailable>
    /** Of this month in UTC, by the clock of the store, exact at every moment; it reads the same however much was used. */
    readonly booked: (workspaceId: WorkspaceId) => Effect.Effect<Booked, Unavailable>
    /** What a run had used when it COMPLETED or FAILED, if that was counted. */
    readonly ofRun: (id: RunId) => Effect.Effect<Option.Option<Spent>, Unavailable>
    /**
     * Adds what was counted one by one to the sums, up to a moment before: of how many steps. Sums are exact also without, but
     * then more is read for each. Idempotent, and waits for nobody.
     */
    readonly fold: Effect.Effect<number, Unavailable>
  }
>()("agentd/Services/UsageRepo") {}
