import * as Effect from "effect/Effect"
import { ApprovalRepo } from "../ApprovalRepo.ts"
import { CronFireRepo } from "../CronFireRepo.ts"
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
  const fires = yield* CronFireRepo
  const repo = yield* RunRepo
  const { eventMillis, journalMillis } = yield* Settings
  // By the clock of the store, as leases and approvals: that of a node may be wrong.
  const prune = Effect.flatMap(fires.now, (at) => {
    const [eventsBefore, journalsBefore] = [ago(at, eventMillis), ago(at, journalMillis)]
    return repo.prune({ eventsBefore, journalsBefore, limit: pruneAtOnce }).pipe(
      Effect.map((pruned) => pruned >= pruneAtOnce),
      Effect.tap(Effect.sleep(prunePauseMillis)),
      Effect.repeat({ while: (isMore) => isMore })
    )
  })
  yield* approvals
    .expire(expireAtOnce)
    .pipe(
      Effect.ignoreCause({ log: "Warn", message: "approvals not looked through" }),
      Effect.andThen(Effect.sleep(expireMillis)),
      Effect.forever,
      Effect.forkScoped
    )
  yield* prune.pipe(
    Effect.ignoreCause({ log: "Warn", message: "old runs not pruned" }),
    Effect.andThen(Effect.sleep(pruneMillis)),
    Effect.forever,
    Effect.forkScoped
  )
})

const ago = (at: Date, millis: number) => new Date(at.getTime() - millis)
