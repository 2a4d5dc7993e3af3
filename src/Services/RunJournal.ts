import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Unavailable } from "../Schemas/Errors.ts"
import type { RunId } from "../Schemas/Ids.ts"
import type { JournalStep } from "../Schemas/Journal.ts"

/** The finished steps of one execution of the agent loop, by their index. */
export interface Journal {
  /**
   * The steps that finished before: the loop takes their results instead of doing them again. Tool calls of
   * one answer run at the same time, so a step may be there before the one in front of it.
   */
  readonly finished: ReadonlyMap<number, JournalStep>
  /** Keeps a step that has just finished. False when the worker no longer owns the run. */
  readonly record: (index: number, step: JournalStep) => Effect.Effect<boolean, Unavailable>
}

/** A journal that remembers nothing, for work that is not taken up again. */
export const noJournal: Journal = { finished: new Map(), record: () => Effect.succeed(true) }

/** The step journals of runs: what makes a run that is taken up again go on after its last step. */
export class RunJournal extends Context.Service<
  RunJournal,
  {
    /**
     * Opens the journal of a run for the worker that claimed it. Each (run, index) is written once, and
     * only while `worker` owns the run.
     */
    readonly open: (run: RunId, worker: string) => Effect.Effect<Journal, Unavailable>
  }
>()("agentd/Services/RunJournal") {}
