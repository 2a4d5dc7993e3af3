import * as Effect from "effect/Effect"
import type { JournalStep } from "../../Schemas/Journal.ts"
import { stepsExceeded } from "../../Schemas/Limits.ts"
import { unlessDraining } from "./Draining.ts"
import type { ExecutionLog } from "./ExecutionLog.ts"

/** Where the steps of an execution come from and go to. */
export interface Steps {
  /**
   * Those that finished before. Tool calls of one answer run at the same time, so a step may be there before the
   * one in front of it.
   */
  readonly finished: ReadonlyMap<number, JournalStep>
  readonly log: Pick<ExecutionLog, "emit" | "record">
  readonly most: number
}

/**
 * Performs a step and keeps it; one that finished before is not done again. None begins when the process stops
 * (`HandedBack`), and what it waits for itself has to end then (`untilDraining`); one that is under way is kept.
 */
export const step = Effect.fnUntraced(function* <S extends JournalStep, E, R>(
  steps: Steps,
  index: number,
  type: S["type"],
  perform: Effect.Effect<S, E, R>
) {
  if (index >= steps.most) return yield* stepsExceeded(steps.most)
  const known = steps.finished.get(index)
  if (known !== undefined && known.type === type) return known as S
  const performed = yield* unlessDraining(perform)
  yield* steps.log.record(index, performed)
  return performed
})
