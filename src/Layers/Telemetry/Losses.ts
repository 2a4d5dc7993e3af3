import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Signal } from "../../Schemas/Telemetry.ts"
import { monotonicMillis } from "../../Services/CurrentTime.ts"
import * as Metrics from "../../Services/Metrics.ts"

/** How often the log tells of what is lost, at most. */
const quietMillis = 60_000

const droppedOf = Metrics.seriesOf(Metrics.telemetryDropped, "signal")

export interface Losses {
  /** Counted at once, and told by and by. */
  readonly count: (dropped: number, reason: string) => void
  /** Tells what was lost since it has told last: in the log, once a minute at most. */
  readonly tell: Effect.Effect<void>
}

/** What of a signal does not reach the collector. */
export const make = (signal: Signal): Effect.Effect<Losses> =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.sync(() => {
      const series = droppedOf(signal)
      let untold = 0
      let why = ""
      let toldAt = Number.NEGATIVE_INFINITY
      series.updateUnsafe(0, context)
      return {
        count: (dropped, reason) => {
          if (dropped === 0) return
          series.updateUnsafe(dropped, context)
          untold += dropped
          why = reason
        },
        tell: Effect.flatMap(monotonicMillis, (at) => {
          if (untold === 0 || at - toldAt < quietMillis) return Effect.void
          const facts = { signal, dropped: untold, reason: why }
          toldAt = at
          untold = 0
          return Effect.annotateLogs(Effect.logWarning("telemetry was dropped"), facts)
        })
      }
    })
  )
