import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../../Api/Api.ts"
import { Approvals } from "../../Services/Approvals.ts"
import { data } from "./Data.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "approvals",
  Effect.fn(function* (handlers) {
    const approvals = yield* Approvals
    return handlers.handleAll({
      list: ({ query }) => data((user) => approvals.list(user, query)),
      decide: ({ params, payload }) => data((user) => approvals.decide(user, params.id, payload))
    })
  })
)
