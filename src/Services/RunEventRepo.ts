import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { RunId } from "../Schemas/Ids.ts"
import type { RunStatus } from "../Schemas/Run.ts"
import type { EventBatch, NumberedEvent } from "../Schemas/RunEvent.ts"
import type { Execution } from "./RunRepo.ts"

/** What an execution told, to be kept. */
export interface EventWrite {
  readonly execution: Execution
  readonly batches: ReadonlyArray<EventBatch>
  /** When the run first said something. */
  readonly firstTokenAt: Date | null
}

/**
 * What became of a write among others. `lost`: the execution is no longer the latest. `busy`: somebody holds its row,
 * and nothing is known. Only of `kept` anything was kept.
 */
export type Appended = "kept" | "lost" | "busy"

/** How far a run is; `lastId` is that of its last kept event, or 0. */
export interface Glance {
  readonly status: RunStatus
  readonly lastId: number
}

/** What a reader of a run sees who has read up to some event. */
export interface Look extends Glance {
  /** What comes next, in order. */
  readonly events: ReadonlyArray<NumberedEvent>
  /** Whether these are all up to `lastId`. */
  readonly isWhole: boolean
}

/**
 * What runs told, in batches. What is written together with something else goes with that: see `RunRepo`,
 * `RunJournal` and `ApprovalRepo`. A batch is known by its first event: written again, it changes nothing.
 */
export class RunEventRepo extends Context.Service<
  RunEventRepo,
  {
    /**
     * Keeps what executions told, in one statement that waits for the rows of none, and says what became of each; when
     * the run first said something with it, unless that is known. Where it fails nothing is kept of any, or it is not
     * known.
     */
    readonly append: (
      writes: ReadonlyArray<EventWrite>
    ) => Effect.Effect<ReadonlyArray<Appended>, Unavailable>
    /** The events behind `after` in order, of up to `limit` batches. */
    readonly read: (
      id: RunId,
      after: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<NumberedEvent>, Unavailable>
    /**
     * As `read` for each of these readers, and how far their runs are, all as of one moment; in their order, undefined
     * where the run is gone. From where all together have about 4 MiB on there is no more room: then the first are
     * served, at least one of them.
     */
    readonly look: (
      readers: ReadonlyArray<{ readonly id: RunId; readonly after: number }>,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Look | undefined>, Unavailable>
    /** How far these runs are; those that are gone are left out. */
    readonly glance: (ids: ReadonlyArray<RunId>) => Effect.Effect<ReadonlyMap<RunId, Glance>, Unavailable>
    /** Forgets the batches that begin with `from` to `to`; as fenced as `append`. */
    readonly truncate: (execution: Execution, from: number, to: number) => Effect.Effect<boolean, Unavailable>
  }
>()("agentd/Services/RunEventRepo") {}
