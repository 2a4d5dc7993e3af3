import { kindOf, type RunKind, type RunStatus, type StoredRun } from "../../../../Schemas/Run.ts"
import { inOrder } from "../Order.ts"
import type { Tables } from "../Store.ts"

const oldestFirst = ({ runs }: Tables, matches: (run: StoredRun) => boolean) =>
  Array.from(runs.values()).filter(matches).sort(inOrder("createdAt"))

export const runsOf = (tables: Tables, workspaceId: string, kind: RunKind, status: RunStatus) =>
  oldestFirst(
    tables,
    (run) => run.workspaceId === workspaceId && kindOf(run) === kind && run.status === status
  )

export const runsOfKind = (tables: Tables, kind: RunKind, status: RunStatus) =>
  oldestFirst(tables, (run) => kindOf(run) === kind && run.status === status)
