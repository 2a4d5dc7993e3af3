import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../../Api/Api.ts"
import { DatabaseHealth } from "../../Services/DatabaseHealth.ts"
import { Lifecycle } from "../../Services/Lifecycle.ts"

const ok = { data: { status: "ok" as const } }

export const layer = HttpApiBuilder.group(
  Api,
  "system",
  Effect.fn(function* (handlers) {
    const database = yield* DatabaseHealth
    const lifecycle = yield* Lifecycle
    return handlers.handleAll({
      live: () => Effect.succeed(ok),
      ready: () => Effect.as(Effect.andThen(lifecycle.accepting, database.check), ok)
    })
  })
)
