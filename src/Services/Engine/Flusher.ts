import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import type { RunId } from "../../Schemas/Ids.ts"
import * as DatabaseWait from "../DatabaseWait.ts"
import { RunEventRepo } from "../RunEventRepo.ts"
import { Signals } from "../Signals.ts"
import type { Source } from "./EventStatements.ts"
import * as EventStatements from "./EventStatements.ts"
import { WatchedRuns } from "./WatchedRuns.ts"

/** How long what was told waits to be kept, while the store keeps up. */
const flushMillis = 250
/** Between statements for what does not wait so long, and between signals. */
const soonMillis = 10

/**
 * Keeps what the executions of this node tell: every 250 ms that of all of them, in as few statements as have room for
 * it, and at once what is told first of a run that somebody watches. What can't be stored, and what is of a run whose
 * row is locked, holds up no other.
 */
export class Flusher extends Context.Service<
  Flusher,
  {
    /** It has something to be kept, and is asked for it until that is kept. */
    readonly add: (source: Source) => void
  }
>()("agentd/Services/Engine/Flusher") {
  static readonly layer = Layer.effect(
    Flusher,
    Effect.gen(function* () {
      const events = yield* RunEventRepo
      const signals = yield* Signals
      const { isWatched } = yield* WatchedRuns
      return yield* make({
        events,
        isWatched,
        kept: Effect.fnUntraced(function* (ids) {
          const [first, ...rest] = yield* Effect.filter(ids, isWatched)
          if (first !== undefined) yield* signals.publish({ type: "events", ids: [first, ...rest] })
        })
      })
    })
  )
}

/** Those that wait, each once, and when there are some. */
const makeWaiting = <A>() => {
  const latch = Latch.makeUnsafe(false)
  let items = new Set<A>()
  return {
    some: latch.await,
    add: (item: A) => {
      items.add(item)
      latch.openUnsafe()
    },
    takeAll: (): ReadonlyArray<A> => {
      const taken = items
      items = new Set()
      latch.closeUnsafe()
      return Array.from(taken)
    }
  }
}

interface Options extends Omit<EventStatements.Options, "settled"> {
  readonly isWatched: (id: RunId) => Effect.Effect<boolean>
  /** More of these runs was kept. */
  readonly kept: (ids: ReadonlyArray<RunId>) => Effect.Effect<void>
}

export const make = Effect.fnUntraced(function* ({ events, isWatched, kept }: Options) {
  const waiting = makeWaiting<Source>()
  const soon = makeWaiting<Source>()
  const untold = makeWaiting<RunId>()
  /** Those whose rows were locked: they are tried again soon, but once. */
  const passedBy = new WeakSet<Source>()
  const writeOut = yield* EventStatements.make({
    events,
    settled: (source, outcome, isMore) => {
      if (isMore) waiting.add(source)
      if (outcome === "kept") untold.add(source.id)
      if (outcome !== "busy") passedBy.delete(source)
      else if (!passedBy.has(source)) {
        passedBy.add(source)
        soon.add(source)
      }
    }
  })

  const flush = Effect.gen(function* () {
    yield* waiting.some
    yield* Effect.sleep(flushMillis)
    const left = yield* writeOut(waiting.takeAll())
    left.forEach(waiting.add)
  })
  const isUrgent = (source: Source) => (passedBy.has(source) ? Effect.succeed(true) : isWatched(source.id))
  const flushSoon = Effect.gen(function* () {
    yield* soon.some
    // Who tells something at the same time comes along.
    yield* Effect.yieldNow
    const urgent = yield* Effect.filter(soon.takeAll(), isUrgent)
    if (urgent.length === 0) return
    // What is left waits for the next flush.
    yield* writeOut(urgent)
    yield* Effect.sleep(soonMillis)
  })
  const tell = Effect.gen(function* () {
    yield* untold.some
    yield* Effect.yieldNow
    yield* kept(untold.takeAll())
    yield* Effect.sleep(soonMillis)
  })
  for (const lane of [flush, flushSoon, tell])
    yield* Effect.forkScoped(Effect.forever(DatabaseWait.apart(lane)))

  return Flusher.of({
    add: (source) => {
      waiting.add(source)
      if (source.isFirst()) soon.add(source)
    }
  })
})
