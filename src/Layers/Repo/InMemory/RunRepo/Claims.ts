import * as Effect from "effect/Effect"
import { budgetExceeded } from "../../../../Schemas/Budget.ts"
import type { WorkspaceId } from "../../../../Schemas/Ids.ts"
import { type ByPlan, isFull, quotaExceeded } from "../../../../Schemas/Quotas.ts"
import { kindOf, type RunKind, type StoredRun } from "../../../../Schemas/Run.ts"
import type { Plan } from "../../../../Schemas/Workspace.ts"
import type { RunRepo, Shares } from "../../../../Services/RunRepo.ts"
import { reachedIn } from "../Budgets.ts"
import { unlessGone } from "../Named.ts"
import { inOrder } from "../Order.ts"
import { isLatest, keepEvents, type Tables } from "../Store.ts"
import { moment } from "./Moment.ts"
import { isScheduled, pendingOf, runsOf, runsOfKind } from "./Ordered.ts"
import { servedKey, start } from "./Start.ts"

const noLimit = Number.POSITIVE_INFINITY

/** How many more runs of a kind may start in the workspaces of who made this one. */
const roomOfOwner = (tables: Tables, workspaceId: WorkspaceId, kind: RunKind, perOwner = noLimit): number => {
  const { makers } = tables
  const owner = makers.get(workspaceId)
  if (owner === undefined) return noLimit
  const running = runsOfKind(tables, kind, "RUNNING").filter((run) => makers.get(run.workspaceId) === owner)
  return perOwner - running.length
}

/** Within a workspace in order, workspaces in turns, and no more of an owner than there is room for. */
const fairly = (
  tables: Tables,
  kind: RunKind,
  { limit, perOwner, perWorkspace }: Shares & { readonly limit: number }
): ReadonlyArray<StoredRun> => {
  const waiting = new Set(runsOfKind(tables, kind, "PENDING").map((run) => run.workspaceId))
  const rooms = new Map<string | undefined, number>()
  return Array.from(waiting)
    .flatMap((workspaceId) => {
      const running = runsOf(tables, workspaceId, kind, "RUNNING").length
      const owner = tables.makers.get(workspaceId)
      rooms.set(owner, roomOfOwner(tables, workspaceId, kind, perOwner))
      return runsOf(tables, workspaceId, kind, "PENDING")
        .slice(0, Math.max(0, perWorkspace - running))
        .map((run, place) => ({
          run,
          owner,
          turn: running + place,
          served: tables.served.get(servedKey(run)) ?? 0
        }))
    })
    .sort((a, b) => a.turn - b.turn || a.served - b.served || inOrder("createdAt")(a.run, b.run))
    .filter(({ owner }) => {
      const room = rooms.get(owner) ?? noLimit
      rooms.set(owner, room - 1)
      return room > 0
    })
    .slice(0, limit)
    .map(({ run }) => run)
}

const hasRoom = (tables: Tables, run: StoredRun, { perOwner, perWorkspace }: Shares): boolean => {
  const { workspaceId } = run
  const kind = kindOf(run)
  return (
    runsOf(tables, workspaceId, kind, "PENDING").length === 0 &&
    runsOf(tables, workspaceId, kind, "RUNNING").length < perWorkspace &&
    roomOfOwner(tables, workspaceId, kind, perOwner) > 0
  )
}

/** The plan that allows no more runs of this kind to wait in the workspace. */
export const fullPlan = (
  tables: Tables,
  run: StoredRun,
  mostPending: ByPlan | undefined
): Plan | undefined => {
  const plan = tables.workspaces.get(run.workspaceId)?.plan
  if (mostPending === undefined || plan === undefined) return
  const waiting = pendingOf(tables, run.workspaceId, kindOf(run)).length
  return isFull(waiting, plan, mostPending) ? plan : undefined
}

/** Who executes a run first, and for how long. */
export const make = (tables: Tables): Pick<RunRepo["Service"], "insert" | "claim" | "renew"> => ({
  insert: (run, claimant, batches, mostPending) =>
    Effect.flatMap(moment, (at) =>
      unlessGone(tables, run, () => {
        const reached = reachedIn(tables, run.workspaceId, at)
        if (reached !== undefined) return budgetExceeded(reached)
        const starts = claimant !== undefined && !isScheduled(run) && hasRoom(tables, run, claimant)
        const full = starts ? undefined : fullPlan(tables, run, mostPending)
        if (full !== undefined) return quotaExceeded("pendingRuns", full, mostPending?.[full] ?? null)
        const kept: StoredRun = { ...run, input: run.input === null ? null : "unread" }
        tables.runs.set(run.id, kept)
        if (run.input !== null) tables.inputs.set(run.id, run.input)
        keepEvents(tables, run.id, batches)
        if (starts) {
          tables.runs.set(run.id, { ...start(tables, kept, claimant, at), updatedAt: run.updatedAt })
        }
        return starts
      })
    ).pipe(
      Effect.flatMap((answer) => (typeof answer === "boolean" ? Effect.succeed(answer) : Effect.fail(answer)))
    ),
  claim: ({ limit, perOwner, perWorkspace, ...claimant }) =>
    Effect.map(moment, (at) =>
      fairly(tables, claimant.kind ?? "task", {
        limit,
        perWorkspace,
        ...(perOwner !== undefined && { perOwner })
      })
        .map((run) => start(tables, run, claimant, at))
        .sort(inOrder("createdAt"))
    ),
  renew: (worker, executions, leaseMillis) =>
    Effect.map(moment, (at) => {
      const owned = executions.filter((execution) => isLatest(tables, { ...execution, worker }))
      for (const { id } of owned) tables.leases.set(id, { worker, until: at.millis + leaseMillis })
      const renewed = new Set(owned.map(({ id }) => id))
      return { renewed, lost: new Set(executions.flatMap(({ id }) => (renewed.has(id) ? [] : [id]))) }
    })
})
