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

  /** Of those that were not done in time: how much to try with the next round. */
  const smaller = new Map<string, number>()

  const forgetAllBut = (pending: ReadonlyArray<string>) => {
    for (const id of smaller.keys()) if (!pending.includes(id)) smaller.delete(id)
  }

  const remove = Effect.fnUntraced(function* (removal: Removal) {
    let size = smaller.get(removal.id) ?? firstBatch
    while (true) {
      const since = yield* monotonicMillis
      const count = yield* Effect.onError(repo.advance(removal, size), () =>
        Effect.sync(() => void smaller.set(removal.id, Math.max(1, Math.floor(size / 4))))
      )
      const took = (yield* monotonicMillis) - since
      yield* Effect.sleep(pauseAfter(took))
      // It is over, or others hold what is left: it is looked at again with the next round.
      if (count === 0) return
      size = nextBatch(size, took)
    }
  })

  const notYet = { log: "Warn", message: "what was deleted is not removed yet" } as const
  // One that can't be done holds up no other.
  const removeOrNot = (removal: Removal) => Effect.ignoreCause(remove(removal), notYet)

  yield* repo.pending(pendingAtOnce).pipe(
    Effect.tap((pending) => Effect.sync(() => forgetAllBut(pending.map(({ id }) => id)))),
    Effect.flatMap((pending) => Effect.forEach(pending, removeOrNot, { discard: true })),
    Effect.ignoreCause(notYet),
    Effect.andThen(Effect.sleep(pollMillis)),
    Effect.forever,
    Effect.forkScoped
  )
})
