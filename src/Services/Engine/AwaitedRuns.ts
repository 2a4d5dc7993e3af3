import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { RunId } from "../../Schemas/Ids.ts"
import { longestWait } from "../../Schemas/Prefer.ts"
import { monotonicMillis } from "../CurrentTime.ts"
import { type Signal, Signals } from "../Signals.ts"

/** How long a run counts as awaited once a signal said so: nobody waits longer. */
const awaitedMillis = (longestWait + 10) * 1_000
/** Of more, the one is forgotten that was heard of least lately: who waits for it looks when its time is over. */
const mostAwaited = 20_000
/** For how long it is known what left this node: a signal that somebody waits for it may still be on its way. */
const leftMillis = 10_000
const mostLeft = 10_000
/** Between signals. */
const pauseMillis = 10

/** A map from runs to moments that forgets the oldest over its bound. */
const makeBounded = (most: number) => {
  const moments = new Map<RunId, number>()
  return {
    get: (id: RunId) => moments.get(id) ?? Number.NEGATIVE_INFINITY,
    set: (id: RunId, at: number) => {
      moments.delete(id)
      moments.set(id, at)
      if (moments.size <= most) return
      const [oldest] = moments.keys()
      if (oldest !== undefined) moments.delete(oldest)
    }
  }
}

/**
 * For which runs somebody waits on any node, as signals say: whoever executed one says when it has left, as it does
 * when it is over or waits for people. Of runs that nobody waits for, nothing is said.
 */
export class AwaitedRuns extends Context.Service<
  AwaitedRuns,
  {
    /** This run is not executed here any more: whoever waits for it is told soon, on any node. */
    readonly left: (id: RunId) => Effect.Effect<void>
  }
>()("agentd/Services/Engine/AwaitedRuns") {
  static readonly layer = Layer.effect(
    AwaitedRuns,
    Effect.gen(function* () {
      const signals = yield* Signals
      const until = makeBounded(mostAwaited)
      const leftAt = makeBounded(mostLeft)
      const untold = new Set<RunId>()
      const isAnyUntold = yield* Latch.make(false)

      const tell = (id: RunId) => {
        untold.add(id)
        isAnyUntold.openUnsafe()
      }
      const publish = Effect.suspend(() => {
        isAnyUntold.closeUnsafe()
        const [first, ...rest] = untold
        untold.clear()
        return first === undefined ? Effect.void : signals.publish({ type: "settled", ids: [first, ...rest] })
      })
      yield* isAnyUntold.await.pipe(
        // What leaves at the same time comes along.
        Effect.andThen(Effect.yieldNow),
        Effect.andThen(publish),
        Effect.andThen(Effect.sleep(pauseMillis)),
        Effect.forever,
        Effect.forkScoped
      )

      const ask = signals.publish({ type: "whoAwaits" })
      const hear = (signal: Signal) => {
        if (signal.type === "lost") return ask
        if (signal.type !== "await") return Effect.void
        return Effect.map(monotonicMillis, (at) => {
          for (const id of signal.ids) {
            until.set(id, at + awaitedMillis)
            if (leftAt.get(id) > at - leftMillis) tell(id)
          }
        })
      }
      yield* (yield* signals.subscribe).pipe(Stream.runForEach(hear), Effect.forkScoped)
      // What others wait for was said before this node was there.
      yield* Effect.forkScoped(ask)

      return AwaitedRuns.of({
        left: (id) =>
          Effect.map(monotonicMillis, (at) => {
            leftAt.set(id, at)
            if (until.get(id) > at) tell(id)
          })
      })
    })
  )
}
