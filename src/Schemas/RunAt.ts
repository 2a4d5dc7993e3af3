import type { CreateTask } from "./Run.ts"

/** How far ahead a run may be scheduled: a year, whichever it is. */
const mostAheadMillis = 366 * 86_400_000

/** What is wrong with the time at which a task is to begin; nothing of one that is over, which is at once. */
export const runAtProblem = ({ runAt }: CreateTask, at: Date): string | undefined =>
  runAt != null && runAt.getTime() - at.getTime() > mostAheadMillis
    ? "runAt: must be at most a year (366 days) ahead"
    : undefined
