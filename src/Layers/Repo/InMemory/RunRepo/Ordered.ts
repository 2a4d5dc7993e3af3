import { kindOf, type RunKind, type RunStatus, type StoredRun } from "../../../../Schemas/Run.ts"
import { inOrder } from "../Order.ts"
import type { Tables } from "../Store.ts"

const oldestFirst = ({ runs }: Tables, matches: (run: StoredRun) => boolean) =>
  Array.from(runs.values()).filter(matches).sort(inOrder("createdAt"))

export const tasksOf = (tables: Tables, workspaceId: string, status: RunStatus) =>
  oldestFirst(tables, (run) => run.turn === null && run.workspaceId === workspaceId && run.status === status)

export const runsOfKind = (tables: Tables, kind: RunKind = "task", status: RunStatus) =>
  oldestFirst(tables, (run) => kindOf(run) === kind && run.status === status)
