import { type StoredRun, workerLost } from "./Run.ts"

/**
 * What becomes of a run that loses its worker, of which `losses` were counted before. The count starts again
 * with every step: it is of losses in a row. At `maxCrashes` the run is over, and `failed` is what it is then.
 */
export const loseWorker = (given: {
  readonly run: StoredRun
  readonly losses: number
  /** The epochs in which its finished steps were written. */
  readonly steps: ReadonlyArray<{ readonly epoch: number }>
  readonly maxCrashes: number
  readonly at: Date
}): { readonly losses: number; readonly failed: StoredRun | null } => {
  const { at, maxCrashes, run } = given
  const losses = given.steps.some(({ epoch }) => epoch === run.epoch) ? 1 : given.losses + 1
  if (losses < maxCrashes) return { losses, failed: null }
  return {
    losses,
    failed: {
      ...run,
      status: "FAILED",
      error: workerLost(maxCrashes),
      errorCode: "worker_lost",
      finishedAt: at,
      updatedAt: at
    }
  }
}
