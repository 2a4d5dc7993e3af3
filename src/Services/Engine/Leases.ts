import * as Effect from "effect/Effect"
import { type ExecutionKey, expireMillis, renewMillis } from "../../Schemas/Capacity.ts"
import type { RunId } from "../../Schemas/Ids.ts"
import { monotonicMillis } from "../CurrentTime.ts"
import { RunRepo } from "../RunRepo.ts"
import { Settings } from "../Settings.ts"
import type { Executions } from "./Executions.ts"
import type { Outages } from "./Outages.ts"

/**
 * Keeps the leases of all executions, in one statement for all of them, and stops what is not ours any more: what
 * another has taken over, what was cancelled, and what could not be renewed in time. One row that is locked holds up no
 * other. What there was no answer about is asked for again soon, and until its lease ends it is ours: a short fault of
 * the store costs no lease.
 */
export const start = Effect.fnUntraced(function* (executions: Executions, outages: Outages) {
  const repo = yield* RunRepo
  const { leaseMillis, worker } = yield* Settings

  /** Whose row somebody else was just writing, or that the store could not be asked about. */
  const unknown = new Set<RunId>()

  const renew = (choose: (execution: ExecutionKey) => boolean, log: "Debug" | "Warn" = "Warn") =>
    Effect.gen(function* () {
      const asked = executions.held().filter(choose)
      if (asked.length === 0) return
      const since = yield* monotonicMillis
      const renewal = yield* Effect.onError(outages.learn(repo.renew(worker, asked, leaseMillis)), () =>
        Effect.sync(() => {
          for (const { id } of asked) unknown.add(id)
        })
      )
      executions.settleRenewal(asked, renewal, since)
      for (const { id } of asked) {
        if (renewal.renewed.has(id) || renewal.lost.has(id)) unknown.delete(id)
        else unknown.add(id)
      }
    }).pipe(Effect.ignoreCause({ log, message: "leases not renewed" }))

  const renewAll = Effect.suspend(() => {
    unknown.clear()
    return renew(() => true)
  })
  const renewUnknown = Effect.suspend(() =>
    unknown.size === 0 ? Effect.void : renew(({ id }) => unknown.has(id), "Debug")
  )
  yield* renewAll.pipe(Effect.delay(renewMillis(leaseMillis)), Effect.forever, Effect.forkScoped)
  yield* executions.expire.pipe(Effect.delay(expireMillis(leaseMillis)), Effect.forever, Effect.forkScoped)
  yield* renewUnknown.pipe(Effect.delay(expireMillis(leaseMillis)), Effect.forever, Effect.forkScoped)
  return {
    /** For signals that a run changed: asks now whether a run is still ours, if it is executed here. */
    check: (id: RunId) => renew((execution) => execution.id === id)
  }
})
