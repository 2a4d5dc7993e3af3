import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { notYet, type Waited } from "../Schemas/Waited.ts"

/** What calls that belong together have waited for the database so far. */
export interface SharedWait {
  waited: Waited
  /** What they were made for is over: what is called from now on has the limit for itself. */
  isOver: boolean
}

/**
 * Which calls share one limit of time for the database (`databaseTimeoutMillis`); without it each has the limit for
 * itself. Fibers inherit it, like all that is in a context: what is to outlive a request is begun `apart`.
 */
export class DatabaseWait extends Context.Reference<SharedWait | undefined>("agentd/Services/DatabaseWait", {
  defaultValue: () => undefined
}) {}

/**
 * All calls of this effect together may wait for the database as long as one may alone. What is not waiting for it
 * does not count, and neither does what goes on when the effect has ended, like the body of an answer.
 */
export const together = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const wait: SharedWait = { waited: notYet, isOver: false }
    return effect.pipe(
      Effect.provideService(DatabaseWait, wait),
      Effect.ensuring(
        Effect.sync(() => {
          wait.isOver = true
        })
      )
    )
  })

/** Each call of this effect has the limit for itself, whoever began it. */
export const apart = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.provideService(effect, DatabaseWait, undefined)
