import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** Of the execution that this is part of; what is executed by none has a lease that never ends. */
export const Lease = Context.Reference<Effect.Effect<void>>("agentd/Services/Lease", {
  defaultValue: () => Effect.void
})

/**
 * Goes on while what this works for is surely this node's, by the monotonic clock, and is interrupted otherwise: to be
 * asked right before anything leaves the process. One that was stopped for longer than its lease wakes up in the middle
 * of its work, before any of its timers, and another may have that work meanwhile (CONTRACT.md section 5).
 */
export const whileOurs: Effect.Effect<void> = Effect.flatten(Lease)
