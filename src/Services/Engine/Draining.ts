import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import { HandedBack } from "../../Schemas/Execution.ts"

/** Whether an executor begins no more steps, because its process stops. */
export interface Draining {
  readonly isDraining: () => boolean
  /** Waits until it is so. */
  readonly begun: Effect.Effect<void>
}

/** Of the executor that executes this; what is executed by none is not stopped so. */
export const Draining = Context.Reference<Draining>("agentd/Services/Engine/Draining", {
  defaultValue: () => ({ isDraining: () => false, begun: Effect.never })
})

export const make = Effect.map(Latch.make(false), (latch) => ({
  draining: { isDraining: () => latch.isOpen(), begun: latch.await } satisfies Draining,
  begin: Effect.asVoid(latch.open)
}))

/** Begins it only while steps begin. What has begun then goes on. */
export const unlessDraining = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | HandedBack, R> =>
  Effect.flatMap(
    Draining,
    ({ isDraining }): Effect.Effect<A, E | HandedBack, R> => (isDraining() ? new HandedBack() : effect)
  )

/** Stops it when no more steps begin: for what waits or looks something up, and changes nothing. */
export const untilDraining = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | HandedBack, R> =>
  Effect.flatMap(Draining, ({ begun }) =>
    Effect.raceFirst(
      effect,
      Effect.flatMap(begun, () => new HandedBack())
    )
  )
