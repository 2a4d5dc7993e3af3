import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import { Unavailable } from "../Schemas/Errors.ts"

/** Whether the service still takes new work. */
export class Lifecycle extends Context.Service<
  Lifecycle,
  {
    /** `Unavailable` from the moment that the process was told to stop. */
    readonly accepting: Effect.Effect<void, Unavailable>
    readonly startDraining: Effect.Effect<void>
    readonly isDraining: Effect.Effect<boolean>
    /** Waits until the process is told to stop. */
    readonly draining: Effect.Effect<void>
    /** What was under way is over or handed back. */
    readonly endDraining: Effect.Effect<void>
    readonly isDrained: Effect.Effect<boolean>
    readonly drained: Effect.Effect<void>
  }
>()("agentd/Services/Lifecycle") {
  static readonly layer = Layer.effect(
    Lifecycle,
    Effect.gen(function* () {
      const draining = yield* Latch.make(false)
      const drained = yield* Latch.make(false)
      const isDraining = Effect.sync(() => draining.isOpen())
      return Lifecycle.of({
        accepting: Effect.flatMap(isDraining, (stopping) =>
          stopping ? new Unavailable({ error: "the service is stopping; try again" }) : Effect.void
        ),
        startDraining: Effect.asVoid(draining.open),
        isDraining,
        draining: draining.await,
        endDraining: Effect.asVoid(drained.open),
        isDrained: Effect.sync(() => drained.isOpen()),
        drained: drained.await
      })
    })
  )
}
