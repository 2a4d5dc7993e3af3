import { hash } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { TokenId } from "../../Schemas/Ids.ts"
import { siteOf } from "../../Schemas/Networks.ts"
import { limited } from "../../Schemas/Rate.ts"
import { newBuckets } from "../../Services/Buckets.ts"
import { monotonicMillis } from "../../Services/CurrentTime.ts"
import { Rates } from "../../Services/Rates.ts"
import * as RequestFacts from "../../Services/RequestFacts.ts"
import { Settings } from "../../Services/Settings.ts"

/** How many tokens are remembered that worked. */
const mostKnown = 10_000

/**
 * In the memory of this node. Whoever guesses costs the database what the bucket of the address holds, also with many
 * requests at once: those that were looked at beyond it are owed. Others at that address (a proxy, an office) go on
 * with tokens that have worked here: only one that is new to this node waits until there is something in the bucket. A
 * token that stops to work is forgotten with the first request that it is refused.
 */
export const layer = Layer.effect(
  Rates,
  Effect.gen(function* () {
    const { anonymousPerMinute, ratePerMinute } = yield* Settings
    const tokens = ratePerMinute === 0 ? undefined : newBuckets({ name: "default", perMinute: ratePerMinute })
    const addresses =
      anonymousPerMinute === 0 ? undefined : newBuckets({ name: "anonymous", perMinute: anonymousPerMinute })
    const known = makeKnown()

    const site = Effect.map(RequestFacts.CurrentRequest, (facts) => siteOf(facts?.address ?? ""))

    const ofAddress = Effect.gen(function* () {
      return addresses?.peek(yield* site, yield* monotonicMillis)
    })

    const spend = Effect.fnUntraced(function* (id: TokenId) {
      const spent = tokens?.take(id, yield* monotonicMillis)
      if (spent === undefined) return
      yield* RequestFacts.tell({ rate: spent.rate })
      if (!spent.isTaken) return yield* limited(spent.rate)
    })

    const requireRoom = Effect.gen(function* () {
      const rate = yield* ofAddress
      if (rate?.remaining === 0) return yield* limited(rate)
    })

    const refuse = Effect.gen(function* () {
      const owed = addresses?.take(yield* site, yield* monotonicMillis, true)
      if (owed === undefined) return
      yield* RequestFacts.tell({ rate: owed.rate })
      if (!owed.isTaken) return yield* limited(owed.rate)
    })

    return Rates.of({
      ofAddress,
      admit: Effect.fnUntraced(function* (secret, authenticate) {
        const key = hash("sha256", Redacted.value(secret), "base64")
        const id = known.get(key)
        // Of a token that worked it is known whose bucket it is: the database need not be asked for one that is empty.
        yield* id === undefined ? requireRoom : spend(id)
        const caller = yield* Effect.tapErrorTag(authenticate, "Unauthenticated", () => {
          known.forget(key)
          return refuse
        })
        known.add(key, caller.token.id)
        if (id === undefined) yield* spend(caller.token.id)
        return caller
      })
    })
  })
)

/** Tokens that worked by their hashes, the latest. */
const makeKnown = () => {
  const known = new Map<string, TokenId>()
  const forget = (key: string) => known.delete(key)
  return {
    get: (key: string) => known.get(key),
    forget,
    add: (key: string, id: TokenId) => {
      forget(key)
      known.set(key, id)
      for (const oldest of known.keys()) {
        if (known.size <= mostKnown) break
        forget(oldest)
      }
    }
  }
}
