import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Outbound } from "../Services/Outbound.ts"
import { Settings } from "../Services/Settings.ts"
import { isPublic } from "./Outbound/Addresses.ts"
import * as Client from "./Outbound/Client.ts"

/** The way out with undici; `guarded` reaches public addresses only, unless the settings allow private ones. */
export const layer = Layer.effect(
  Outbound,
  Effect.gen(function* () {
    const { allowPrivateAddresses } = yield* Settings
    return Outbound.of({
      guarded: yield* Client.make(allowPrivateAddresses ? {} : { isAllowed: isPublic }),
      trusted: yield* Client.make({})
    })
  })
)
