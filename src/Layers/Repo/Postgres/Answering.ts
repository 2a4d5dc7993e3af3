import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"

/**
 * Until the work fails, or has not opened the latch for `limitMillis`: then it ends. The work is left to close by itself:
 * a frozen server takes no goodbye.
 */
export const whileAnswering = <E, R>(
  work: (answered: Latch.Latch) => Effect.Effect<unknown, E, R | Scope.Scope>,
  limitMillis: number
): Effect.Effect<void, E, Exclude<R, Scope.Scope>> =>
  Effect.gen(function* () {
    const answered = yield* Latch.make(false)
    yield* Effect.acquireUseRelease(
      Effect.forkDetach(Effect.scoped(work(answered))),
      (working) => Effect.raceFirst(Fiber.join(working), silence(answered, limitMillis)),
      (working) => Effect.sync(() => working.interruptUnsafe())
    )
  })

const silence = Effect.fnUntraced(function* (answered: Latch.Latch, limitMillis: number) {
  while (Option.isSome(yield* Effect.timeoutOption(answered.await, limitMillis))) answered.closeUnsafe()
})
