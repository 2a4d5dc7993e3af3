import { kindOf, type RunKind, type RunStatus, type StoredRun } from "../../../../Schemas/Run.ts"
import { inOrder } from "../Order.ts"
import type { Tables } from "../Store.ts"

const oldestFirst = ({ runs }: Tables, matches: (run: StoredRun) => boolean) =>
  Array.from(runs.values()).filter(matches).sort(inOrder("createdAt"))

/** PENDING, and not due yet. */
export const isScheduled = ({ notBefore, status }: StoredRun): boolean =>
  status === "PENDING" && notBefore !== null

/** Of a status; what is scheduled is of none. */
export const runsOf = (tables: Tables, workspaceId: string, kind: RunKind, status: RunStatus) =>
  oldestFirst(
    tables,
    (run) =>
      run.workspaceId === workspaceId && kindOf(run) === kind && run.status === status && !isScheduled(run)
  )

export const runsOfKind = (tables: Tables, kind: RunKind, status: RunStatus) =>
  oldestFirst(tables, (run) => kindOf(run) === kind && run.status === status && !isScheduled(run))

/** What is PENDING in a workspace, scheduled or not. */
export const pendingOf = ({ runs }: Tables, workspaceId: string, kind: RunKind): ReadonlyArray<StoredRun> =>
  Array.from(runs.values()).filter(
    (run) => run.workspaceId === workspaceId && kindOf(run) === kind && run.status === "PENDING"
  )
