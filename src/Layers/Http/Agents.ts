import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../../Api/Api.ts"
import { CurrentUser } from "../../Api/Authorization.ts"
import { Agents } from "../../Services/Agents.ts"
import { data } from "./Data.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "agents",
  Effect.fn(function* (handlers) {
    const agents = yield* Agents
    return handlers.handleAll({
      create: ({ payload }) => data(Effect.flatMap(CurrentUser, (user) => agents.create(user, payload))),
      list: ({ query }) => data(Effect.flatMap(CurrentUser, (user) => agents.list(user, query))),
      get: ({ params }) => data(Effect.flatMap(CurrentUser, (user) => agents.get(user, params.id))),
      update: ({ params, payload }) =>
        data(Effect.flatMap(CurrentUser, (user) => agents.update(user, params.id, payload)))
    })
  })
)
