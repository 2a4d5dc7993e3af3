import type { StoredRun } from "./Run.ts"

/** Why a run that keeps losing its worker is given up. */
export const workerLost = (times: number): string => `the worker was lost ${times} times while it ran this`

/**
 * From so many losses of its worker in a row, without a step in between, a run is suspect: it waits until it may begin.
 *
 * - What was in flight at a crash starts again at once, and may be guilty (1).
 * - What was in flight at another before it finished a step is suspect (2): of these a worker begins one at a time, and
 *   the next when that one has finished a step. One that kills its process is the only one then that may be guilty.
 * - So it alone is counted (3), and begins again where nothing is in flight that was so at a crash before.
 */
export const suspectFrom = 2
export const aloneFrom = 3

/**
 * How long a run rests before it begins again that was counted alone (`aloneFrom`): the next count may be its last, and
 * something else may be killing processes, one after the other.
 */
export const restMillis = (leaseMillis: number): number => 2 * leaseMillis

/** A run that a worker holds: how often it had lost its worker before, and what it did in this execution. */
export interface HeldRun {
  readonly losses: number
  /** Whether it finished a step in this execution. */
  readonly hasStep: boolean
}

const isOpen = ({ hasStep, losses }: HeldRun): boolean => losses > 0 && !hasStep

/** How often a run that goes on without having lost its worker has lost it in a row. */
export const keepLosses = ({ hasStep, losses }: HeldRun): number => (hasStep ? 0 : losses)

/**
 * What is counted when a worker dies with all of these. If one alone may be guilty by what was counted before, it is;
 * if several may be, none is found guilty, and they are suspects. At `maxCrashes` a run is over.
 */
export const loseWorker = <R extends HeldRun>(
  held: ReadonlyArray<R>,
  maxCrashes: number
): ReadonlyArray<R> => {
  const isAlone = held.filter(isOpen).length === 1
  const most = Math.min(suspectFrom, maxCrashes - 1)
  const counted = (run: R): number => {
    if (!isOpen(run)) return 1
    return isAlone ? run.losses + 1 : Math.max(run.losses, Math.min(run.losses + 1, most))
  }
  return held.map((run) => ({ ...run, losses: counted(run) }))
}

/** A run that a worker holds by a lease that ends then: it has ended if that is not above 0. */
export interface LeasedRun extends HeldRun {
  readonly endsInMillis: number
}

/**
 * Which runs of a worker are nobody's any more, with what is counted of them now: nothing to do with a crash where the
 * worker itself asks, where it has renewed others after the lease of one had ended, and where the store was away,
 * `awayMillis` ago, after the last sign of life of the worker. Else all leases of a worker end before it counts as dead:
 * what it held is judged together, and once.
 */
export const settleLeases = <R extends LeasedRun>(
  held: ReadonlyArray<R>,
  options: {
    readonly isOwn: boolean
    readonly leaseMillis: number
    readonly maxCrashes: number
    readonly awayMillis: number
  }
): ReadonlyArray<R> => {
  const { awayMillis, isOwn, leaseMillis, maxCrashes } = options
  const kept = (runs: ReadonlyArray<R>) => runs.map((run) => ({ ...run, losses: keepLosses(run) }))
  const ended = held.filter(({ endsInMillis }) => endsInMillis <= 0)
  if (isOwn) return kept(ended)
  const last = Math.max(...held.map(({ endsInMillis }) => endsInMillis))
  if (last > 0) return kept(ended.filter(({ endsInMillis }) => last - endsInMillis >= leaseMillis))
  return awayMillis < leaseMillis - last ? kept(held) : loseWorker(held, maxCrashes)
}

/**
 * Which of the runs that are nobody's a worker may begin that holds these. They come in the order in which they are to
 * begin: of fewest losses first. `lowest` are the fewest of all that are nobody's.
 */
export const mayBegin = <R extends Pick<HeldRun, "losses">>(given: {
  readonly held: ReadonlyArray<HeldRun>
  readonly waiting: ReadonlyArray<R>
  readonly lowest: number
}): ReadonlyArray<R> => {
  const { lowest, waiting } = given
  const held = given.held.filter(({ losses }) => losses > 0)
  const open = held.filter(isOpen)
  const innocent = waiting.filter(({ losses }) => losses === 0)
  if (open.some(({ losses }) => losses >= suspectFrom)) return innocent
  const once = waiting.filter(({ losses }) => losses > 0 && losses < suspectFrom)
  if (once.length > 0 || open.length > 0) return [...innocent, ...once]
  const suspect = waiting.find(({ losses }) => losses >= suspectFrom)
  if (suspect === undefined) return innocent
  const mustBeAlone = suspect.losses >= aloneFrom
  return mustBeAlone && (held.length > 0 || lowest < suspect.losses) ? innocent : [...innocent, suspect]
}

/** A run that has lost its worker too often. */
export const givenUp = (run: StoredRun, maxCrashes: number, at: Date): StoredRun => ({
  ...run,
  status: "FAILED",
  error: workerLost(maxCrashes),
  errorCode: "worker_lost",
  finishedAt: at,
  updatedAt: at
})
