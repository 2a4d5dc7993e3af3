import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { RunId } from "../Schemas/Ids.ts"
import type { JournalStep } from "../Schemas/Journal.ts"
import type { EventBatch } from "../Schemas/RunEvent.ts"
import type { KeptExecution, TimedStep } from "../Schemas/RunTimes.ts"
import type { Execution } from "./RunRepo.ts"

/** How far a run came. */
export interface Progress {
  readonly steps: ReadonlyMap<number, JournalStep>
  /** For how long it had been worked on when the last of them was kept, all executions together. */
  readonly workedMillis: number
}

/** The step journals of runs: what makes a run that is taken up again go on after its last step. */
export class RunJournal extends Context.Service<
  RunJournal,
  {
    /** The finished steps of a run. */
    readonly steps: (run: RunId) => Effect.Effect<Progress["steps"], Unavailable>
    readonly progress: (run: RunId) => Effect.Effect<Progress, Unavailable>
    /** When each was kept, without their texts, and why it was executed more than once; the latest `mostExecutions`. */
    readonly times: (run: RunId) => Effect.Effect<
      {
        readonly steps: ReadonlyArray<TimedStep>
        readonly executions: ReadonlyArray<KeptExecution>
      },
      Unavailable
    >
    /**
     * Keeps a step under its index. Each (run, index) is written once, and only while the execution is the
     * latest and its run is RUNNING: one statement proves it and writes. False when it is not, or when
     * another execution has written the step. Idempotent: the same execution may write it again. `events` and
     * `workedMillis` (0) are kept with it. One that says which model answered makes it the run's, in the same statement.
     */
    readonly record: (
      execution: Execution,
      index: number,
      step: JournalStep,
      events?: ReadonlyArray<EventBatch>,
      workedMillis?: number
    ) => Effect.Effect<boolean, Unavailable>
  }
>()("agentd/Services/RunJournal") {}
