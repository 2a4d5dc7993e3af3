import * as Effect from "effect/Effect"
import type * as Latch from "effect/Latch"
import { queryLimit } from "../../Schemas/Capacity.ts"
import type { Unavailable } from "../../Schemas/Errors.ts"
import type { RunId } from "../../Schemas/Ids.ts"
import type { RunKind, StoredRun } from "../../Schemas/Run.ts"
import { monotonicMillis } from "../CurrentTime.ts"
import * as Metrics from "../Metrics.ts"
import { RunRepo } from "../RunRepo.ts"
import { Settings, sharesOf } from "../Settings.ts"
import { Signals } from "../Signals.ts"
import type { Executions } from "./Executions.ts"
import type { Outages } from "./Outages.ts"
import type { Queue } from "./Queue.ts"

/** The safety net for lost signals, and how often leases are looked at that others let end. */
const pollMillis = 1_000
/** How soon it looks again where some wait, or just did; then after twice as long each, up to the poll. */
const firstPauseMillis = 50

/**
 * Takes runs while there are places for them, for ever: those whose worker is gone, then those that wait. It looks
 * when `awake` opens, and every second. Where some wait it looks again soon: all nodes are woken at once, and pass by what
 * another is just looking at, as all workspaces of one owner. A run whose answer is lost on its way here is nobody's
 * until its lease ends.
 */
export const start = Effect.fnUntraced(function* (options: {
  readonly kind: RunKind
  readonly most: number
  readonly executions: Executions
  readonly outages: Outages
  readonly awake: Latch.Latch
  readonly queue: Queue
}) {
  const { awake, executions, kind, outages, queue } = options
  const repo = yield* RunRepo
  const settings = yield* Settings
  const signals = yield* Signals
  const { leaseMillis, maxCrashes, worker } = settings
  const claimant = { worker, leaseMillis, kind }
  const wanted = queryLimit(options.most, kind)

  /** Places that a query is about to fill are nobody else's meanwhile. */
  const fill = (query: (limit: number) => Effect.Effect<ReadonlyArray<StoredRun>, Unavailable>) =>
    Effect.gen(function* () {
      const reserved = executions.reserve(wanted)
      if (reserved === 0) return false
      const since = yield* monotonicMillis
      const taken = yield* Effect.onError(outages.learn(query(reserved)), () =>
        Effect.sync(() => executions.giveBack(reserved))
      )
      yield* executions.begin(taken, { reserved, since })
      return taken.length === reserved
    }).pipe(Effect.uninterruptible, Effect.repeat({ while: (isMore) => isMore }))

  const claim = fill((limit) =>
    Effect.tap(repo.claim({ ...claimant, ...sharesOf(settings, kind), limit }), ({ length }) =>
      length > 0 ? queue.seen : Effect.void
    )
  )
  const ended = ([first, ...rest]: ReadonlyArray<RunId>) =>
    first === undefined ? Effect.void : signals.publish({ type: "settled", ids: [first, ...rest] })
  const takeOver = fill((limit) =>
    Effect.flatMap(outages.millisAgo, (awayMillis) =>
      Effect.tap(repo.takeOver({ ...claimant, limit, maxCrashes, awayMillis, ended }), ({ length }) =>
        length > 0 ? Metrics.countTakenOver(kind, length) : Effect.void
      )
    )
  )

  // What others left behind comes first: a node that is full of waiting runs must get to it as well.
  let lookedAt = Number.NEGATIVE_INFINITY
  const take = Effect.gen(function* () {
    const at = yield* monotonicMillis
    if (at - lookedAt >= pollMillis && executions.hasPlaces()) {
      lookedAt = at
      yield* Effect.ignoreCause(takeOver, { log: "Warn", message: "runs not taken over" })
    }
    yield* Effect.ignoreCause(claim, { log: "Warn", message: "runs not claimed" })
  })
  const awoken = Effect.andThen(awake.await, Effect.asVoid(awake.close))
  let pause = pollMillis
  const wait = Effect.gen(function* () {
    pause = (yield* queue.news) ? firstPauseMillis : Math.min(2 * pause, pollMillis)
    yield* Effect.timeoutOption(awoken, pause)
  })
  yield* take.pipe(Effect.andThen(wait), Effect.forever, Effect.forkScoped)
})
