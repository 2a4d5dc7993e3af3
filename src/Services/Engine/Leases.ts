import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { RunId } from "../../Schemas/Ids.ts"
import { type Execution, RunRepo } from "../RunRepo.ts"
import { Settings } from "../Settings.ts"
import type { Executions } from "./Executions.ts"

/** How late an execution may learn that its lease is over, at most. */
const lateMillis = 500

/**
 * Keeps the leases of all executions, in one statement for all of them, and stops what is not ours any more: what
 * another has taken over, what was cancelled, and what could not be renewed in time.
 */
export const start = Effect.fnUntraced(function* (executions: Executions) {
  const repo = yield* RunRepo
  const { leaseMillis, worker } = yield* Settings

  const renew = (choose: (execution: Pick<Execution, "id">) => boolean) =>
    Effect.gen(function* () {
      const asked = executions.held().filter(choose)
      if (asked.length === 0) return
      const since = yield* Clock.currentTimeMillis
      executions.renewed(asked, yield* repo.renew(worker, asked, leaseMillis), since)
    }).pipe(Effect.ignoreCause({ log: "Warn", message: "leases not renewed" }))

  yield* renew(() => true).pipe(Effect.delay(leaseMillis / 3), Effect.forever, Effect.forkScoped)
  yield* executions.expire.pipe(
    Effect.delay(Math.min(lateMillis, leaseMillis / 20)),
    Effect.forever,
    Effect.forkScoped
  )
  return {
    /** Asks at once whether a run is still ours, if it is executed here. */
    check: (id: RunId) => renew((execution) => execution.id === id)
  }
})
