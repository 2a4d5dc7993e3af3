import { kindOf, type StoredRun } from "../../../../Schemas/Run.ts"
import type { Claimant } from "../../../../Services/RunRepo.ts"
import { noteExecution } from "../Executions.ts"
import type { Tables } from "../Store.ts"
import type { Moment } from "./Moment.ts"

export const servedKey = (run: StoredRun): string => `${run.workspaceId} ${kindOf(run)}`

/** Makes a run RUNNING for a worker: its next execution, whoever had the one before. */
export const start = (
  tables: Tables,
  run: StoredRun,
  { leaseMillis, worker }: Claimant,
  { at, millis }: Moment
): StoredRun => {
  const { leases, runs, served } = tables
  const started: StoredRun = {
    ...run,
    status: "RUNNING",
    attempts: run.attempts + 1,
    epoch: run.epoch + 1,
    startedAt: run.startedAt ?? at,
    updatedAt: at
  }
  runs.set(run.id, started)
  const lease = leases.get(run.id)
  const leaseEndedAt = lease && new Date(at.getTime() + lease.until - millis)
  noteExecution(tables, run, started, at, leaseEndedAt)
  leases.set(run.id, { worker, until: millis + leaseMillis })
  // A turn at the places that a workspace has: a run that is taken over has its already.
  if (run.status !== "RUNNING") served.set(servedKey(run), Math.max(0, ...served.values()) + 1)
  return started
}
