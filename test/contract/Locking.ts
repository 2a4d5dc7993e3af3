import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { Transaction } from "../../src/Services/Transaction.ts"

/**
 * What a transaction that has locked something reads of it, again and again, while somebody else tries to
 * change it; returns when both are done.
 */
export const readsWhileLocked = Effect.fnUntraced(function* <A, E, R, E2, R2>(
  lock: Effect.Effect<A, E, R>,
  change: Effect.Effect<unknown, E2, R2>
) {
  const transaction = yield* Transaction
  const [locked, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
  const holding = yield* Effect.forkChild(
    transaction.atomically(
      Effect.gen(function* () {
        const first = yield* lock
        yield* Deferred.succeed(locked, undefined)
        yield* Deferred.await(go)
        // Many round trips, so that a change that does not wait is seen.
        return [first, ...(yield* Effect.replicateEffect(lock, 20))]
      })
    )
  )
  yield* Deferred.await(locked)
  const changing = yield* Effect.forkChild(change, { startImmediately: true })
  yield* Deferred.succeed(go, undefined)
  const seen = yield* Fiber.join(holding)
  yield* Fiber.join(changing)
  return seen
})
