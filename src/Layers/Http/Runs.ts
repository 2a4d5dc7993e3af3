import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../../Api/Api.ts"
import { CurrentUser } from "../../Api/Authorization.ts"
import { Runs } from "../../Services/Runs.ts"

const defaultLimit = 20

export const layer = HttpApiBuilder.group(
  Api,
  "runs",
  Effect.fn(function* (handlers) {
    const runs = yield* Runs
    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query }) {
        const found = yield* runs.list(yield* CurrentUser, {
          ...query,
          limit: query.limit ?? defaultLimit,
          offset: query.offset ?? 0
        })
        return { data: found.runs, total: found.total }
      })
    })
  })
)
