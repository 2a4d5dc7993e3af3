import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { type ExecutionKey, expireMillis, renewMillis } from "../../Schemas/Capacity.ts"
import type { RunId } from "../../Schemas/Ids.ts"
import { RunRepo } from "../RunRepo.ts"
import { Settings } from "../Settings.ts"
import type { Executions } from "./Executions.ts"

/**
 * Keeps the leases of all executions, in one statement for all of them, and stops what is not ours any more: what
 * another has taken over, what was cancelled, and what could not be renewed in time.
 */
export const start = Effect.fnUntraced(function* (executions: Executions) {
  const repo = yield* RunRepo
  const { leaseMillis, worker } = yield* Settings

  const renew = (choose: (execution: ExecutionKey) => boolean) =>
    Effect.gen(function* () {
      const asked = executions.held().filter(choose)
      if (asked.length === 0) return
      const since = yield* Clock.currentTimeMillis
      executions.settleRenewal(asked, yield* repo.renew(worker, asked, leaseMillis), since)
    }).pipe(Effect.ignoreCause({ log: "Warn", message: "leases not renewed" }))

  yield* renew(() => true).pipe(Effect.delay(renewMillis(leaseMillis)), Effect.forever, Effect.forkScoped)
  yield* executions.expire.pipe(Effect.delay(expireMillis(leaseMillis)), Effect.forever, Effect.forkScoped)
  return {
    /** For signals that a run changed: asks now whether a run is still ours, if it is executed here. */
    check: (id: RunId) => renew((execution) => execution.id === id)
  }
})
