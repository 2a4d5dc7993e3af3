import * as Effect from "effect/Effect"
import type { RunRepo } from "../../../../Services/RunRepo.ts"
import { inOrder } from "../Order.ts"
import { removeRun, type Tables } from "../Store.ts"

/** Up to `limit` runs that were over before a moment, and of which this much is forgotten already. */
const dueAt = ({ pruned, runs }: Tables, level: number, before: Date, limit: number) =>
  Array.from(runs.values())
    .flatMap((run) => (run.finishedAt === null ? [] : [{ ...run, finishedAt: run.finishedAt }]))
    .filter((run) => run.finishedAt < before && (pruned.get(run.id) ?? 0) === level)
    .sort(inOrder("finishedAt"))
    .slice(0, limit)

const forgetJournal = ({ approvals, executions, pruned, steps }: Tables, id: string): void => {
  steps.delete(id)
  executions.delete(id)
  for (const { id: asked, runId } of approvals.values()) if (runId === id) approvals.delete(asked)
  pruned.set(id, 2)
}

const later = (a: Date, b: Date) => (a > b ? a : b)

/** What is forgotten of runs that are over. */
export const make = (tables: Tables): Pick<RunRepo["Service"], "prune"> => ({
  prune: ({ eventsBefore, journalsBefore, limit, runsBefore = new Date(0) }) =>
    Effect.sync(() => {
      const due = [eventsBefore, journalsBefore, runsBefore].map((before, level) =>
        dueAt(tables, level, later(runsBefore, before), limit).map((run) => ({ ...run, level }))
      )
      for (const { finishedAt, id, level, turn } of due.flat()) {
        if (finishedAt < runsBefore || (level === 1 && turn !== null)) removeRun(tables, id)
        else if (level === 1) forgetJournal(tables, id)
        else {
          tables.events.delete(id)
          tables.pruned.set(id, 1)
        }
      }
      return due.flat().length
    })
})
