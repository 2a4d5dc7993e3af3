import type { StoredRun } from "../../../Schemas/Run.ts"
import { executionNoted } from "../../../Schemas/RunTimes.ts"
import type { Tables } from "./Store.ts"

/** Keeps why a run that has changed is executed once more, as triggers do. */
export const noteExecution = (
  { executions }: Tables,
  before: StoredRun,
  after: StoredRun,
  at: Date,
  leaseEndedAt = at
): void => {
  const noted = executionNoted(before, after, { at, leaseEndedAt })
  if (noted === undefined) return
  const known = executions.get(after.id)
  const waiting = known?.get(after.epoch)
  const row = noted === "begun" ? waiting && { ...waiting, begunAt: at } : noted
  if (row !== undefined) executions.set(after.id, new Map(known).set(row.epoch, row))
}
