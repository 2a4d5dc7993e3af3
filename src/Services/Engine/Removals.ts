import * as Effect from "effect/Effect"
import { firstBatch, nextBatch, pauseAfter, type Removal } from "../../Schemas/Removal.ts"
import { monotonicMillis } from "../CurrentTime.ts"
import { RemovalRepo } from "../RemovalRepo.ts"

const pollMillis = 5_000
const pendingAtOnce = 100

/**
 * Goes on with what was deleted, on every node: in batches that are over in tens of milliseconds, and with pauses as
 * long, so that others get their turn. Where it breaks off, it or another node goes on.
 */
export const start = Effect.gen(function* () {
  const repo = yield* RemovalRepo

  const remove = Effect.fnUntraced(function* (removal: Removal) {
    let size = firstBatch
    while (true) {
      const since = yield* monotonicMillis
      const count = yield* repo.advance(removal, size)
      const took = (yield* monotonicMillis) - since
      yield* Effect.sleep(pauseAfter(took))
      // It is over, or others hold what is left: it is looked at again with the next round.
      if (count === 0) return
      size = nextBatch(size, took)
    }
  })

  yield* repo.pending(pendingAtOnce).pipe(
    Effect.flatMap((pending) => Effect.forEach(pending, remove, { discard: true })),
    Effect.ignoreCause({ log: "Warn", message: "what was deleted is not removed yet" }),
    Effect.andThen(Effect.sleep(pollMillis)),
    Effect.forever,
    Effect.forkScoped
  )
})
