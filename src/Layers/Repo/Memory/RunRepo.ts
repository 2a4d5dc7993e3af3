import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { StoredRun } from "../../../Schemas/Run.ts"
import { RunRepo } from "../../../Services/RunRepo.ts"
import { inOrder } from "./Order.ts"
import { Store } from "./Store.ts"

export const layer = Layer.effect(
  RunRepo,
  Effect.gen(function* () {
    const { guard, tables } = yield* Store
    const { leases, runs } = tables
    const isClaimable = (run: StoredRun, at: number) =>
      run.status === "PENDING" || (run.status === "RUNNING" && (leases.get(run.id)?.until ?? 0) <= at)

    return guard(
      RunRepo.of({
        insert: (run) => Effect.sync(() => void runs.set(run.id, run)),
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
        claim: ({ leaseMillis, limit, worker }) =>
          Effect.map(Clock.currentTimeMillis, (at) =>
            Array.from(runs.values())
              .filter((run) => isClaimable(run, at))
              .sort(inOrder("createdAt"))
              .slice(0, limit)
              .map((run) => {
                const claimed: StoredRun = {
                  ...run,
                  status: "RUNNING",
                  attempts: run.attempts + 1,
                  updatedAt: new Date(at)
                }
                runs.set(run.id, claimed)
                leases.set(run.id, { worker, until: at + leaseMillis })
                return claimed
              })
          ),
        renew: (worker, ids, leaseMillis) =>
          Effect.map(Clock.currentTimeMillis, (at) => {
            const owned = ids.filter((id) => leases.get(id)?.worker === worker)
            for (const id of owned) leases.set(id, { worker, until: at + leaseMillis })
            return new Set(owned)
          }),
        finish: (id, worker, outcome, at) =>
          Effect.sync(() => {
            const run = runs.get(id)
            if (run?.status !== "RUNNING" || leases.get(id)?.worker !== worker) return false
            leases.delete(id)
            runs.set(id, {
              ...run,
              status: outcome.status,
              output: outcome.status === "COMPLETED" ? outcome.output : null,
              error: outcome.status === "FAILED" ? outcome.error : null,
              updatedAt: at
            })
            return true
          }),
        release: (worker) =>
          Effect.sync(() => {
            for (const [id, lease] of leases) {
              const run = runs.get(id)
              if (lease.worker !== worker || run === undefined) continue
              leases.delete(id)
              runs.set(id, { ...run, status: "PENDING" })
            }
          })
      })
    )
  })
)
