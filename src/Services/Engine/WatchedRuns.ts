import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { RunId } from "../../Schemas/Ids.ts"
import { monotonicMillis } from "../CurrentTime.ts"
import { Signals } from "../Signals.ts"

/** How long a run counts as watched once a signal said so. */
const watchedMillis = 5_000
/** How often whoever watches says so again. */
export const announceMillis = watchedMillis - 1_000
/** Of more runs, the one is forgotten that was heard of least lately: its readers look by themselves. */
const mostWatched = 10_000

/** Which runs somebody watches on any node, as signals say: where they are executed, that makes events signals too. */
export class WatchedRuns extends Context.Service<
  WatchedRuns,
  {
    /** Whether somebody watches the events of this run: that was said within the last 5 s. */
    readonly isWatched: (id: RunId) => Effect.Effect<boolean>
  }
>()("agentd/Services/Engine/WatchedRuns") {
  static readonly layer = Layer.effect(
    WatchedRuns,
    Effect.gen(function* () {
      const signals = yield* Signals
      const until = new Map<RunId, number>()
      const heard = (ids: ReadonlyArray<RunId>) =>
        Effect.map(monotonicMillis, (at) => {
          for (const id of ids) {
            until.delete(id)
            until.set(id, at + watchedMillis)
            const [oldest] = until.keys()
            if (until.size > mostWatched && oldest !== undefined) until.delete(oldest)
          }
        })
      yield* (yield* signals.subscribe).pipe(
        Stream.runForEach((signal) => (signal.type === "watch" ? heard(signal.ids) : Effect.void)),
        Effect.forkScoped
      )
      return WatchedRuns.of({
        isWatched: (id) => Effect.map(monotonicMillis, (at) => (until.get(id) ?? 0) > at)
      })
    })
  )
}
