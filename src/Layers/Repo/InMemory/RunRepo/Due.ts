import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { StoredRun } from "../../../../Schemas/Run.ts"
import { now } from "../../../../Services/CurrentTime.ts"
import type { RunRepo } from "../../../../Services/RunRepo.ts"
import { noteExecution } from "../Executions.ts"
import { setRun, type Tables } from "../Store.ts"
import { isScheduled } from "./Ordered.ts"

const timeOf = ({ notBefore }: StoredRun): number => notBefore?.getTime() ?? 0

/** What is scheduled, the first of it first. */
const scheduled = ({ runs }: Tables): ReadonlyArray<StoredRun> =>
  Array.from(runs.values())
    .filter(isScheduled)
    .sort((a, b) => timeOf(a) - timeOf(b))

/** When runs are due that were not to begin before a time. */
export const make = (tables: Tables): Pick<RunRepo["Service"], "untilDue" | "makeDue"> => ({
  untilDue: Effect.map(now, (at) =>
    Option.map(Option.fromNullishOr(scheduled(tables)[0]), (run) => timeOf(run) - at.getTime())
  ),
  makeDue: (limit) =>
    Effect.map(now, (at) => {
      const due = scheduled(tables)
        .filter((run) => timeOf(run) <= at.getTime())
        .slice(0, limit)
      for (const run of due) {
        const next = { ...run, notBefore: null, updatedAt: at }
        setRun(tables, next)
        noteExecution(tables, run, next, at)
      }
      return due.length
    })
})
