import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import {
  isTerminal,
  kindOf,
  type RunKind,
  type RunStatus,
  type StoredRun,
  workerLost
} from "../../../Schemas/Run.ts"
import { type Claimant, RunRepo } from "../../../Services/RunRepo.ts"
import { inOrder } from "./Order.ts"
import { isLatest, keepEvents, removeRun, Store, setRun } from "./Store.ts"

export const layer = Layer.effect(
  RunRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { approvals, crashes, events, leases, pruned, runs, served, steps } = tables

    const of = (workspaceId: string, status: RunStatus) =>
      Array.from(runs.values())
        .filter((run) => run.turn === null && run.workspaceId === workspaceId && run.status === status)
        .sort(inOrder("createdAt"))

    const inState = (kind: RunKind = "task", status: RunStatus) =>
      Array.from(runs.values())
        .filter((run) => kindOf(run) === kind && run.status === status)
        .sort(inOrder("createdAt"))

    const leaseEnd = ({ id }: StoredRun) => leases.get(id)?.until ?? 0

    const start = (run: StoredRun, { leaseMillis, worker }: Claimant, at: number): StoredRun => {
      const started: StoredRun = {
        ...run,
        status: "RUNNING",
        attempts: run.attempts + 1,
        epoch: run.epoch + 1,
        startedAt: run.startedAt ?? new Date(at),
        updatedAt: new Date(at)
      }
      runs.set(run.id, started)
      leases.set(run.id, { worker, until: at + leaseMillis })
      // A turn at the places that a workspace has: chat has none, and a run that is taken over has its already.
      if (run.turn === null && run.status !== "RUNNING") {
        served.set(run.workspaceId, Math.max(0, ...served.values()) + 1)
      }
      return started
    }

    /**
     * Counts that a run lost its worker, without a step in between. True when that was once too often, and
     * it is FAILED.
     */
    const isPoison = (run: StoredRun, maxCrashes: number, at: number): boolean => {
      const known = Array.from(steps.get(run.id)?.values() ?? [])
      const count = known.some(({ epoch }) => epoch === run.epoch) ? 1 : (crashes.get(run.id) ?? 0) + 1
      crashes.set(run.id, count)
      if (count < maxCrashes) return false
      leases.delete(run.id)
      const date = new Date(at)
      setRun(tables, {
        ...run,
        status: "FAILED",
        error: workerLost(maxCrashes),
        errorCode: "worker_lost",
        finishedAt: date,
        updatedAt: date
      })
      return true
    }

    return guard(
      RunRepo.of({
        insert: (run, claimant, batches) =>
          Effect.map(Clock.currentTimeMillis, (at) => {
            runs.set(run.id, run)
            keepEvents(tables, run.id, batches)
            if (claimant === undefined) return false
            if (
              run.turn === null &&
              (of(run.workspaceId, "PENDING").length > 1 ||
                of(run.workspaceId, "RUNNING").length >= claimant.perWorkspace)
            ) {
              return false
            }
            runs.set(run.id, { ...start(run, claimant, at), updatedAt: run.updatedAt })
            return true
          }),
        find: (id) => Effect.sync(() => Option.fromNullishOr(runs.get(id))),
        list: ({ agentId, cronJobId, limit, offset, projectId, status, workspaceId }) =>
          Effect.sync(() => {
            const matching = Array.from(runs.values())
              .filter((run) => run.turn === null && run.workspaceId === workspaceId)
              .filter((run) => projectId === undefined || run.projectId === projectId)
              .filter((run) => status === undefined || run.status === status)
              .filter((run) => agentId === undefined || run.agentId === agentId)
              .filter((run) => cronJobId === undefined || run.cronJobId === cronJobId)
              .sort(inOrder("createdAt"))
              .reverse()
            return { runs: matching.slice(offset, offset + limit), total: matching.length }
          }),
        claim: ({ limit, perWorkspace, ...claimant }) =>
          Effect.map(Clock.currentTimeMillis, (at) => {
            const pending = inState(claimant.kind, "PENDING")
            if (claimant.kind === "turn")
              return pending.slice(0, limit).map((run) => start(run, claimant, at))
            const waiting = new Set(pending.map((run) => run.workspaceId))
            const turns = Array.from(waiting).flatMap((workspaceId) => {
              const running = of(workspaceId, "RUNNING").length
              return of(workspaceId, "PENDING")
                .slice(0, Math.max(0, perWorkspace - running))
                .map((run, place) => ({ run, turn: running + place, served: served.get(workspaceId) ?? 0 }))
            })
            return turns
              .sort((a, b) => a.turn - b.turn || a.served - b.served || inOrder("createdAt")(a.run, b.run))
              .slice(0, limit)
              .map(({ run }) => start(run, claimant, at))
              .sort(inOrder("createdAt"))
          }),
        takeOver: ({ limit, maxCrashes, ...claimant }) =>
          Effect.map(Clock.currentTimeMillis, (at) =>
            inState(claimant.kind, "RUNNING")
              .filter((run) => leaseEnd(run) <= at)
              .sort((a, b) => leaseEnd(a) - leaseEnd(b))
              .slice(0, limit)
              .filter(
                (run) => leases.get(run.id)?.worker === claimant.worker || !isPoison(run, maxCrashes, at)
              )
              .map((run) => start(run, claimant, at))
              .sort(inOrder("createdAt"))
          ),
        renew: (worker, executions, leaseMillis) =>
          Effect.map(Clock.currentTimeMillis, (at) => {
            const owned = executions.filter((execution) => isLatest(tables, { ...execution, worker }))
            for (const { id } of owned) leases.set(id, { worker, until: at + leaseMillis })
            return new Set(owned.map(({ id }) => id))
          }),
        finish: (execution, outcome, { at, firstTokenAt }, batches) =>
          Effect.sync(() => {
            const run = runs.get(execution.id)
            const isOwn = leases.get(execution.id)?.worker === execution.worker
            if (run?.epoch !== execution.epoch || !isOwn) return false
            const output = outcome.status === "COMPLETED" ? outcome.output : null
            const error = outcome.status === "FAILED" ? outcome.error : null
            if (run.status === outcome.status) return run.output === output && run.error === error
            if (run.status !== "RUNNING") return false
            keepEvents(tables, run.id, batches)
            setRun(tables, {
              ...run,
              status: outcome.status,
              output,
              error,
              errorCode: outcome.status === "FAILED" ? outcome.code : null,
              usage: outcome.usage,
              firstTokenAt: run.firstTokenAt ?? firstTokenAt,
              finishedAt: at,
              updatedAt: at
            })
            return true
          }),
        cancel: (id, at) =>
          Effect.sync(() => {
            const run = runs.get(id)
            if (run === undefined || isTerminal(run.status)) return false
            setRun(tables, { ...run, status: "CANCELLED", finishedAt: at, updatedAt: at })
            for (const approval of approvals.values()) {
              if (approval.runId === id && approval.status === "PENDING") {
                approvals.set(approval.id, { ...approval, status: "EXPIRED" })
              }
            }
            return true
          }),
        release: (worker, { crashed, kind = "task", maxCrashes }) =>
          Effect.map(Clock.currentTimeMillis, (at) => {
            for (const [id, lease] of leases) {
              const run = runs.get(id)
              if (lease.worker !== worker || run?.status !== "RUNNING" || kindOf(run) !== kind) continue
              if (crashed && isPoison(run, maxCrashes, at)) continue
              leases.delete(id)
              runs.set(id, { ...run, status: "PENDING", ...(crashed && { updatedAt: new Date(at) }) })
            }
          }),
        prune: ({ eventsBefore, journalsBefore, limit }) =>
          Effect.sync(() => {
            const due = (level: number, before: Date) =>
              Array.from(runs.values())
                .flatMap((run) => (run.finishedAt === null ? [] : [{ ...run, finishedAt: run.finishedAt }]))
                .filter((run) => run.finishedAt < before && (pruned.get(run.id) ?? 0) === level)
                .sort(inOrder("finishedAt"))
                .slice(0, limit)
            const [first, second] = [due(0, eventsBefore), due(1, journalsBefore)]
            for (const { id } of first) {
              events.delete(id)
              pruned.set(id, 1)
            }
            for (const { id, turn } of second) {
              if (turn !== null) removeRun(tables, id)
              else {
                steps.delete(id)
                for (const { id: asked, runId } of approvals.values())
                  if (runId === id) approvals.delete(asked)
                pruned.set(id, 2)
              }
            }
            return first.length + second.length
          })
      })
    )
  })
)
