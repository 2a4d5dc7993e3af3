import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import { Unavailable } from "../Schemas/Errors.ts"

/** Whether the service still takes new work. */
export class Lifecycle extends Context.Service<
  Lifecycle,
  {
    /** `Unavailable` from the moment that the process was told to stop. */
    readonly accepting: Effect.Effect<void, Unavailable>
    readonly startDraining: Effect.Effect<void>
  }
>()("agentd/Services/Lifecycle") {
  static readonly layer = Layer.effect(
    Lifecycle,
    Effect.gen(function* () {
      const draining = yield* Ref.make(false)
      return Lifecycle.of({
        accepting: Effect.flatMap(Ref.get(draining), (stopping) =>
          stopping ? new Unavailable({ error: "the service is stopping; try again" }) : Effect.void
        ),
        startDraining: Ref.set(draining, true)
      })
    })
  )
}
