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

const forgetJournal = ({ approvals, pruned, steps }: Tables, id: string): void => {
  steps.delete(id)
  for (const { id: asked, runId } of approvals.values()) if (runId === id) approvals.delete(asked)
  pruned.set(id, 2)
}

/** What is forgotten of runs that are over. */
export const make = (tables: Tables): Pick<RunRepo["Service"], "prune"> => ({
  prune: ({ eventsBefore, journalsBefore, limit }) =>
    Effect.sync(() => {
      const first = dueAt(tables, 0, eventsBefore, limit)
      const second = dueAt(tables, 1, journalsBefore, limit)
      for (const { id } of first) {
        tables.events.delete(id)
        tables.pruned.set(id, 1)
      }
      for (const { id, turn } of second) {
        if (turn === null) forgetJournal(tables, id)
        else removeRun(tables, id)
      }
      return first.length + second.length
    })
})
