import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { ApprovalRepo } from "../ApprovalRepo.ts"
import { AuditRepo } from "../AuditRepo.ts"
import { BudgetRepo } from "../BudgetRepo.ts"
import { ConversationRepo } from "../ConversationRepo.ts"
import { CronFireRepo } from "../CronFireRepo.ts"
import { IdempotencyRepo } from "../IdempotencyRepo.ts"
import * as Metrics from "../Metrics.ts"
import { inBatches, regularly } from "../Regularly.ts"
import { RunRepo } from "../RunRepo.ts"
import { Settings } from "../Settings.ts"
import { Signals } from "../Signals.ts"
import { Snapshots } from "../Snapshots.ts"
import { TokenRepo } from "../TokenRepo.ts"
import { UsageRepo } from "../UsageRepo.ts"

const expireMillis = 10_000
const expireAtOnce = 100
const foldMillis = 1_000
const pruneMillis = 60_000
const buryAtOnce = 100
const pruneAtOnce = 200
/** So long after their end tokens can still be told of. */
const endedTokenMillis = 30 * 86_400_000
/** Each with its messages and turns. */
const hiddenAtOnce = 50
const forgetAtOnce = 1000
const snapshotMillis = 60_000
/** A snapshot that is held for longer is told of: old versions of rows fill the disk meanwhile. */
const oldSnapshotSeconds = 900

/** Looks after what no worker holds: ends what waited for people for too long, and forgets what is old. */
export const start = Effect.gen(function* () {
  const approvals = yield* ApprovalRepo
  const budgets = yield* BudgetRepo
  const conversations = yield* ConversationRepo
  const fires = yield* CronFireRepo
  const repo = yield* RunRepo
  const tokens = yield* TokenRepo
  const audit = yield* AuditRepo
  const keys = yield* IdempotencyRepo
  const usage = yield* UsageRepo
  const signals = yield* Signals
  const { auditMillis, eventMillis, idempotencyMillis, journalMillis, runMillis } = yield* Settings
  // By the clock of the store, as leases and approvals: that of a node may be wrong.
  const prune = Effect.flatMap(fires.now, (at) => {
    const [eventsBefore, journalsBefore] = [ago(at, eventMillis), ago(at, journalMillis)]
    const runsBefore = runMillis === null ? undefined : ago(at, runMillis)
    return inBatches(
      repo.prune({ eventsBefore, journalsBefore, runsBefore, limit: pruneAtOnce }),
      pruneAtOnce
    )
  })
  const pruneTokens = Effect.flatMap(fires.now, (at) =>
    inBatches(tokens.prune(ago(at, endedTokenMillis), pruneAtOnce), pruneAtOnce)
  )
  const forgetHidden = Effect.flatMap(fires.now, (at) =>
    inBatches(conversations.forgetHidden(ago(at, idempotencyMillis), hiddenAtOnce), hiddenAtOnce)
  )
  const forget = Effect.flatMap(fires.now, (at) =>
    inBatches(audit.prune(ago(at, auditMillis), forgetAtOnce), forgetAtOnce)
  )
  yield* regularly(yield* watchSnapshots, snapshotMillis, "the age of snapshots is not known")
  const expire = Effect.tap(approvals.expire(expireAtOnce), ([first, ...rest]) =>
    first === undefined ? Effect.void : signals.publish({ type: "settled", ids: [first, ...rest] })
  )
  yield* regularly(expire, expireMillis, "approvals not looked through")
  yield* regularly(repo.foldTotals, foldMillis, "totals of runs not put together")
  yield* regularly(usage.fold, foldMillis, "sums of usage not put together")
  yield* regularly(
    inBatches(budgets.bury(buryAtOnce), buryAtOnce),
    pruneMillis,
    "what calls held of budgets is not counted as lost"
  )
  yield* regularly(prune, pruneMillis, "old runs not pruned")
  yield* regularly(forgetHidden, pruneMillis, "old conversations that no list shows not forgotten")
  yield* regularly(pruneTokens, pruneMillis, "old tokens not pruned")
  const pruneKeys = inBatches(keys.prune(pruneAtOnce), pruneAtOnce)
  yield* regularly(pruneKeys, pruneMillis, "expired idempotency keys not forgotten")
  yield* regularly(forget, pruneMillis, "old entries of the audit log not forgotten")
})

/** Tells once of each time in which one is too old. */
const watchSnapshots = Effect.map(Snapshots, ({ oldestSeconds }) => {
  let isTold = false
  return Effect.gen(function* () {
    const seconds = yield* oldestSeconds
    yield* Metric.update(Metrics.oldestSnapshot, seconds)
    const isOld = seconds >= oldSnapshotSeconds
    if (isOld && !isTold) {
      yield* Effect.annotateLogs(
        Effect.logWarning(
          "a snapshot of the database has been held for long: old versions of rows can't be removed"
        ),
        { seconds: Math.round(seconds) }
      )
    }
    isTold = isOld
  })
})

const ago = (at: Date, millis: number) => new Date(at.getTime() - millis)
