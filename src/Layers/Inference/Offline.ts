import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Ids } from "../../Services/Ids.ts"
import { Inference } from "../../Services/Inference.ts"
import { nextEvents } from "./OfflineScript.ts"

/** The built-in provider: needs no network and no key, and says in words that it is no model. */
export const layer = Layer.effect(
  Inference,
  Effect.gen(function* () {
    const ids = yield* Ids
    return Inference.of({
      stream: (request) =>
        Stream.fromIterableEffect(
          Effect.map(ids.make<string>("toolCall"), (callId) => nextEvents(request, callId))
        ).pipe(Stream.rechunk(1))
    })
  })
)
