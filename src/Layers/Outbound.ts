import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { allowedBy } from "../Schemas/PrivateAddresses.ts"
import { Outbound } from "../Services/Outbound.ts"
import { Settings } from "../Services/Settings.ts"
import { isPublic } from "./Outbound/Addresses.ts"
import * as Client from "./Outbound/Client.ts"

/**
 * The way out with undici; `guarded` reaches public addresses only, and the private ones that the settings allow. What it
 * refuses is in the log.
 */
export const layer = Layer.effect(
  Outbound,
  Effect.gen(function* () {
    const { allowPrivateAddresses } = yield* Settings
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const { fetch: guarded, post } = yield* Client.makeWays({
      isAllowed: allowedBy(allowPrivateAddresses, isPublic),
      onRefusal: ({ found, host }) =>
        run(Effect.annotateLogs(Effect.logInfo("a host is not connected to"), { host, found }))
    })
    return Outbound.of({
      guarded,
      post,
      trusted: yield* Client.make({})
    })
  })
)
