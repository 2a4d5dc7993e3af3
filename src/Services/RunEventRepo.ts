import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { RunId } from "../Schemas/Ids.ts"
import type { RunStatus } from "../Schemas/Run.ts"
import type { EventBatch, NumberedEvent } from "../Schemas/RunEvent.ts"
import type { Execution } from "./RunRepo.ts"

/**
 * What runs told, in batches. What is written together with something else goes with that: see `RunRepo`,
 * `RunJournal` and `ApprovalRepo`. A batch is known by its first event: written again, it changes nothing.
 */
export class RunEventRepo extends Context.Service<
  RunEventRepo,
  {
    /**
     * False, and nothing is kept, when the execution is no longer the latest. When the run first said something
     * is kept with it, unless that is known.
     */
    readonly append: (
      execution: Execution,
      batches: ReadonlyArray<EventBatch>,
      firstTokenAt?: Date | null
    ) => Effect.Effect<boolean, Unavailable>
    /** The events behind `after` in order, of up to `limit` batches. */
    readonly read: (
      id: RunId,
      after: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<NumberedEvent>, Unavailable>
    /** How far a run is: None when it is gone. `lastId` is that of its last kept event, or 0. */
    readonly glance: (
      id: RunId
    ) => Effect.Effect<Option.Option<{ readonly status: RunStatus; readonly lastId: number }>, Unavailable>
    /** Forgets the batches that begin with `from` to `to`; as fenced as `append`. */
    readonly truncate: (execution: Execution, from: number, to: number) => Effect.Effect<boolean, Unavailable>
  }
>()("agentd/Services/RunEventRepo") {}
