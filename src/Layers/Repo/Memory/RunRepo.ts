import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { isTerminal, type RunStatus, type StoredRun, workerLost } from "../../../Schemas/Run.ts"
import { type Claimant, RunRepo } from "../../../Services/RunRepo.ts"
import { inOrder } from "./Order.ts"
import { isLatest, Store } from "./Store.ts"

export const layer = Layer.effect(
  RunRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { approvals, crashes, leases, runs, served, steps } = tables

    const of = (workspaceId: string, status: RunStatus) =>
      Array.from(runs.values())
        .filter((run) => run.workspaceId === workspaceId && run.status === status)
        .sort(inOrder("createdAt"))

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
      served.set(run.workspaceId, at)
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
      runs.set(run.id, {
        ...run,
        status: "FAILED",
        error: workerLost(maxCrashes),
        finishedAt: date,
        updatedAt: date
      })
      return true
    }

    return guard(
      RunRepo.of({
        insert: (run, claimant) =>
          Effect.map(Clock.currentTimeMillis, (at) => {
            runs.set(run.id, run)
            if (
              claimant === undefined ||
              of(run.workspaceId, "PENDING").length > 1 ||
              of(run.workspaceId, "RUNNING").length >= claimant.perWorkspace
            ) {
              return false
            }
            start(run, claimant, at)
            return true
          }),
        find: (id) => Effect.sync(() => Option.fromNullishOr(runs.get(id))),
        list: ({ agentId, cronJobId, limit, offset, projectId, status, workspaceId }) =>
          Effect.sync(() => {
            const matching = Array.from(runs.values())
              .filter((run) => run.workspaceId === workspaceId)
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
            const waiting = new Set(
              Array.from(runs.values())
                .filter((run) => run.status === "PENDING")
                .map((run) => run.workspaceId)
            )
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
            Array.from(runs.values())
              .filter((run) => run.status === "RUNNING" && (leases.get(run.id)?.until ?? 0) <= at)
              .sort(inOrder("createdAt"))
              .slice(0, limit)
              .filter(
                (run) => leases.get(run.id)?.worker === claimant.worker || !isPoison(run, maxCrashes, at)
              )
              .map((run) => start(run, claimant, at))
          ),
        renew: (worker, executions, leaseMillis) =>
          Effect.map(Clock.currentTimeMillis, (at) => {
            const owned = executions.filter((execution) => isLatest(tables, { ...execution, worker }))
            for (const { id } of owned) leases.set(id, { worker, until: at + leaseMillis })
            return new Set(owned.map(({ id }) => id))
          }),
        finish: (execution, outcome, { at, firstTokenAt }) =>
          Effect.sync(() => {
            const run = runs.get(execution.id)
            const isOwn = leases.get(execution.id)?.worker === execution.worker
            if (run?.epoch !== execution.epoch || !isOwn) return false
            if (run.status === outcome.status) return true
            if (run.status !== "RUNNING") return false
            runs.set(run.id, {
              ...run,
              status: outcome.status,
              output: outcome.status === "COMPLETED" ? outcome.output : null,
              error: outcome.status === "FAILED" ? outcome.error : null,
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
            runs.set(id, { ...run, status: "CANCELLED", finishedAt: at, updatedAt: at })
            for (const approval of approvals.values()) {
              if (approval.runId === id && approval.status === "PENDING") {
                approvals.set(approval.id, { ...approval, status: "EXPIRED" })
              }
            }
            return true
          }),
        release: (worker, { crashed, maxCrashes }) =>
          Effect.map(Clock.currentTimeMillis, (at) => {
            for (const [id, lease] of leases) {
              const run = runs.get(id)
              if (lease.worker !== worker || run?.status !== "RUNNING") continue
              if (crashed && isPoison(run, maxCrashes, at)) continue
              leases.delete(id)
              runs.set(id, { ...run, status: "PENDING" })
            }
          })
      })
    )
  })
)
