import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Ids } from "../../Services/Ids.ts"
import type { Model } from "../../Services/Inference.ts"
import { nextEvents } from "./OfflineScript.ts"

/** The built-in provider: needs no network and no key, and says in words that it is no model. */
export const make = (ids: Ids["Service"]): Pick<Model, "stream"> => ({
  stream: (request) =>
    Stream.fromIterableEffect(
      Effect.map(ids.make<string>("toolCall"), (callId) => nextEvents(request, callId))
    ).pipe(Stream.rechunk(1))
})
