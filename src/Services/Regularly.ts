import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

const pauseMillis = 50

/** Now, and so long after each end, until the scope closes; what went wrong is told by `message`, and tried again then. */
export const regularly = <E, R>(
  work: Effect.Effect<unknown, E, R>,
  millis: number,
  message: string
): Effect.Effect<unknown, never, R | Scope.Scope> =>
  work.pipe(
    Effect.ignoreCause({ log: "Warn", message }),
    Effect.andThen(Effect.sleep(millis)),
    Effect.forever,
    Effect.forkScoped
  )

/** Again, with a pause in which others have their turn, as long as a batch was full. */
export const inBatches = <E, R>(batch: Effect.Effect<number, E, R>, size: number) =>
  batch.pipe(
    Effect.map((count) => count >= size),
    Effect.tap(Effect.sleep(pauseMillis)),
    Effect.repeat({ while: (isMore) => isMore })
  )
