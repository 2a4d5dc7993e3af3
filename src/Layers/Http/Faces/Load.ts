import * as Effect from "effect/Effect"

/**
 * What a module makes of its services, loaded when it is first asked for: who speaks none of the other protocols has
 * nothing of them in memory.
 */
export const onFirstUse = <A, R>(load: () => Promise<{ readonly make: Effect.Effect<A, never, R> }>) =>
  Effect.contextWith((context: import("effect/Context").Context<R>) =>
    Effect.cached(
      Effect.provideContext(
        Effect.flatMap(Effect.promise(load), ({ make }) => make),
        context
      )
    )
  )
