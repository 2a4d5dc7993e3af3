import * as Effect from "effect/Effect"
import { ApprovalRepo } from "../ApprovalRepo.ts"
import { now } from "../CurrentTime.ts"
import { RunRepo } from "../RunRepo.ts"
import { Settings } from "../Settings.ts"

const expireMillis = 10_000
const expireAtOnce = 100
const pruneMillis = 60_000
const pruneAtOnce = 200
const prunePauseMillis = 50

/** Looks after what no worker holds: ends what waited for people for too long, and forgets what is old. */
export const start = Effect.gen(function* () {
  const approvals = yield* ApprovalRepo
  const repo = yield* RunRepo
  const { eventMillis, journalMillis } = yield* Settings
  const prune = Effect.gen(function* () {
    const at = (yield* now).getTime()
    const [eventsBefore, journalsBefore] = [new Date(at - eventMillis), new Date(at - journalMillis)]
    const pruned = yield* repo.prune({ eventsBefore, journalsBefore, limit: pruneAtOnce })
    return pruned >= pruneAtOnce
  })
  yield* approvals
    .expire(expireAtOnce)
    .pipe(
      Effect.ignoreCause({ log: "Warn", message: "approvals not looked through" }),
      Effect.andThen(Effect.sleep(expireMillis)),
      Effect.forever,
      Effect.forkScoped
    )
  yield* Effect.repeat(Effect.tap(prune, Effect.sleep(prunePauseMillis)), { while: (isMore) => isMore }).pipe(
    Effect.ignoreCause({ log: "Warn", message: "old runs not pruned" }),
    Effect.andThen(Effect.sleep(pruneMillis)),
    Effect.forever,
    Effect.forkScoped
  )
})
