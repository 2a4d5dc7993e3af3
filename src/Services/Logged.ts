import * as Effect from "effect/Effect"
import type { Unavailable } from "../Schemas/Errors.ts"

/** A step of a loop that goes on whatever happens to it: what went wrong is logged. */
export const logged = <A>(what: string, effect: Effect.Effect<A, Unavailable>) =>
  effect.pipe(Effect.catchCause((cause) => Effect.logWarning(what, cause)))
