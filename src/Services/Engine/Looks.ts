import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type { Unavailable } from "../../Schemas/Errors.ts"
import type { RunId } from "../../Schemas/Ids.ts"
import * as DatabaseWait from "../DatabaseWait.ts"
import { type Look, RunEventRepo } from "../RunEventRepo.ts"
import { byHalves } from "./Halves.ts"

/** Of each reader, in one statement. */
const batchesAtOnce = 25
/** In one statement; those that look from the same event on are asked for once. */
const readersAtOnce = 1_000
/** Of a node; meanwhile others gather. */
const statementsAtOnce = 2

interface Ask {
  readonly id: RunId
  readonly after: number
  readonly answer: Deferred.Deferred<Look | undefined, Unavailable>
}

const keyOf = ({ after, id }: Ask) => `${id} ${after}`

/**
 * What a run told behind an event, as `RunEventRepo.look`: readers who look at the same time, as those who were told
 * together do, look in one statement. It shares no patience with what else they wait for.
 */
export const make = Effect.gen(function* () {
  const events = yield* RunEventRepo
  const some = yield* Latch.make(false)
  const waiting: Array<Ask> = []

  const together = Effect.fnUntraced(function* (asks: ReadonlyArray<Ask>) {
    const different = Array.from(new Map(asks.map((ask) => [keyOf(ask), ask])).values())
    const looks = yield* events.look(
      different.map(({ after, id }) => ({ id, after })),
      batchesAtOnce
    )
    const found = new Map(different.map((ask, n) => [keyOf(ask), looks[n]]))
    for (const ask of asks) yield* Deferred.succeed(ask.answer, found.get(keyOf(ask)))
  })

  const lookTogether = Effect.gen(function* () {
    yield* some.await
    // Who was told with the first comes along.
    yield* Effect.yieldNow
    const asks = waiting.splice(0, readersAtOnce)
    if (waiting.length === 0) some.closeUnsafe()
    yield* byHalves(asks, together, ({ answer }, defect) => Deferred.die(answer, defect)).pipe(
      Effect.catchTag("Unavailable", (error) =>
        Effect.forEach(asks, ({ answer }) => Deferred.fail(answer, error), { discard: true })
      )
    )
  })
  for (let n = 0; n < statementsAtOnce; n++) {
    yield* Effect.forkScoped(Effect.forever(DatabaseWait.apart(lookTogether)))
  }

  return Effect.fnUntraced(function* (id: RunId, after: number) {
    const answer = yield* Deferred.make<Look | undefined, Unavailable>()
    waiting.push({ id, after, answer })
    some.openUnsafe()
    return yield* Deferred.await(answer)
  })
})
