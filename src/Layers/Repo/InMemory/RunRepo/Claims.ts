import * as Effect from "effect/Effect"
import type { StoredRun } from "../../../../Schemas/Run.ts"
import type { RunRepo } from "../../../../Services/RunRepo.ts"
import { unlessGone } from "../Named.ts"
import { inOrder } from "../Order.ts"
import { isLatest, keepEvents, type Tables } from "../Store.ts"
import { moment } from "./Moment.ts"
import { runsOfKind, tasksOf } from "./Ordered.ts"
import { start } from "./Start.ts"

/** Within a workspace in order, workspaces in turns. */
const fairTasks = (tables: Tables, limit: number, perWorkspace: number): ReadonlyArray<StoredRun> => {
  const waiting = new Set(runsOfKind(tables, "task", "PENDING").map((run) => run.workspaceId))
  return Array.from(waiting)
    .flatMap((workspaceId) => {
      const running = tasksOf(tables, workspaceId, "RUNNING").length
      const served = tables.served.get(workspaceId) ?? 0
      return tasksOf(tables, workspaceId, "PENDING")
        .slice(0, Math.max(0, perWorkspace - running))
        .map((run, place) => ({ run, turn: running + place, served }))
    })
    .sort((a, b) => a.turn - b.turn || a.served - b.served || inOrder("createdAt")(a.run, b.run))
    .slice(0, limit)
    .map(({ run }) => run)
}

const oldestTurns = (tables: Tables, limit: number): ReadonlyArray<StoredRun> =>
  runsOfKind(tables, "turn", "PENDING").slice(0, limit)

const hasRoom = (tables: Tables, { turn, workspaceId }: StoredRun, perWorkspace: number): boolean =>
  turn !== null ||
  (tasksOf(tables, workspaceId, "PENDING").length <= 1 &&
    tasksOf(tables, workspaceId, "RUNNING").length < perWorkspace)

/** Who executes a run first, and for how long. */
export const make = (tables: Tables): Pick<RunRepo["Service"], "insert" | "claim" | "renew"> => ({
  insert: (run, claimant, batches) =>
    Effect.flatMap(moment, (at) =>
      unlessGone(tables, run, () => {
        tables.runs.set(run.id, run)
        keepEvents(tables, run.id, batches)
        if (claimant === undefined || !hasRoom(tables, run, claimant.perWorkspace)) return false
        tables.runs.set(run.id, { ...start(tables, run, claimant, at), updatedAt: run.updatedAt })
        return true
      })
    ),
  claim: ({ limit, perWorkspace, ...claimant }) =>
    Effect.map(moment, (at) => {
      const picked =
        claimant.kind === "turn" ? oldestTurns(tables, limit) : fairTasks(tables, limit, perWorkspace)
      return picked.map((run) => start(tables, run, claimant, at)).sort(inOrder("createdAt"))
    }),
  renew: (worker, executions, leaseMillis) =>
    Effect.map(moment, (at) => {
      const owned = executions.filter((execution) => isLatest(tables, { ...execution, worker }))
      for (const { id } of owned) tables.leases.set(id, { worker, until: at.millis + leaseMillis })
      const renewed = new Set(owned.map(({ id }) => id))
      return { renewed, lost: new Set(executions.flatMap(({ id }) => (renewed.has(id) ? [] : [id]))) }
    })
})
