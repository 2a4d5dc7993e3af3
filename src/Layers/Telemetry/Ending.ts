import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { monotonicMillis } from "../../Services/CurrentTime.ts"
import { Settings } from "../../Services/Settings.ts"

/** What waits when the service stops is not worth more. */
const mostMillis = 3_000

/** How long what waits for collectors may be sent when the service stops: all signals together have one time. */
export class Ending extends Context.Service<
  Ending,
  {
    /** From the first who asks on; no longer than all else has for its end. */
    readonly leftMillis: Effect.Effect<number>
  }
>()("agentd/Layers/Telemetry/Ending") {
  static readonly layer = Layer.effect(
    Ending,
    Effect.map(Settings, ({ drainMillis }) => {
      let deadline: number | undefined
      return Ending.of({
        leftMillis: Effect.map(monotonicMillis, (at) => {
          deadline ??= at + Math.min(mostMillis, drainMillis)
          return Math.max(deadline - at, 0)
        })
      })
    })
  )
}
