import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"

/** Tells the executor of this process that there may be a run to take up. */
export class RunWakeup extends Context.Service<
  RunWakeup,
  {
    readonly notify: Effect.Effect<void>
    /** Waits for the next `notify`; one that came since the last wait counts. */
    readonly wait: Effect.Effect<void>
  }
>()("agentd/Services/RunWakeup") {
  static readonly layer = Layer.effect(
    RunWakeup,
    Effect.gen(function* () {
      const latch = yield* Latch.make(false)
      return RunWakeup.of({
        notify: Effect.asVoid(latch.open),
        wait: Effect.andThen(latch.await, Effect.asVoid(latch.close))
      })
    })
  )
}
