import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../../Api/Api.ts"
import { Runs } from "../../Services/Runs.ts"
import { data } from "./Data.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "tasks",
  Effect.fn(function* (handlers) {
    const runs = yield* Runs
    return handlers.handleAll({
      create: ({ payload }) => data((user) => runs.create(user, payload))
    })
  })
)
