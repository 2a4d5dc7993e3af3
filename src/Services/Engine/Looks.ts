import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Request from "effect/Request"
import * as RequestResolver from "effect/RequestResolver"
import type { Unavailable } from "../../Schemas/Errors.ts"
import type { RunId } from "../../Schemas/Ids.ts"
import * as DatabaseWait from "../DatabaseWait.ts"
import { type Look, RunEventRepo } from "../RunEventRepo.ts"
import { byHalves } from "./Halves.ts"

/** Of each reader, in one statement. */
const batchesAtOnce = 25
/** In one statement, those that look from the same event on counted once. */
const readersAtOnce = 250

class Ask extends Request.Class<
  { readonly id: RunId; readonly after: number },
  Look | undefined,
  Unavailable
> {}

const keyOf = ({ after, id }: Ask) => `${id} ${after}`

/**
 * What a run told behind an event, as `RunEventRepo.look`: readers who look at the same time, as those who were told
 * together do, look in one statement. Each waits for the database as if alone.
 */
export const make = Effect.map(RunEventRepo, (events) => {
  const together = Effect.fnUntraced(function* (entries: ReadonlyArray<Request.Entry<Ask>>) {
    const asks = Array.from(new Map(entries.map(({ request }) => [keyOf(request), request])).values())
    const looks = yield* events.look(
      asks.map(({ after, id }) => ({ id, after })),
      batchesAtOnce
    )
    const found = new Map(asks.map((ask, n) => [keyOf(ask), looks[n]]))
    for (const { completeUnsafe, request } of entries) {
      completeUnsafe(Exit.succeed(found.get(keyOf(request))))
    }
  })
  const toBlame = ({ completeUnsafe }: Request.Entry<Ask>, defect: unknown) =>
    Effect.sync(() => completeUnsafe(Exit.die(defect)))
  const resolver = RequestResolver.batchN(
    RequestResolver.make<Ask>((entries) => DatabaseWait.apart(byHalves(entries, together, toBlame))),
    readersAtOnce
  )
  return (id: RunId, after: number) => Effect.request(new Ask({ id, after }), resolver)
})
