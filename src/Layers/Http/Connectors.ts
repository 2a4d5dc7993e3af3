import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../../Api/Api.ts"
import { Connector } from "../../Schemas/Connector.ts"
import { Connectors } from "../../Services/Connectors.ts"
import { data, removal } from "./Data.ts"
import { listing } from "./Listing.ts"

const list = listing(Connector)

export const layer = HttpApiBuilder.group(
  Api,
  "connectors",
  Effect.fn(function* (handlers) {
    const connectors = yield* Connectors
    return handlers.handleAll({
      create: ({ payload }) => data((user) => connectors.create(user, payload)),
      list: ({ query }) => list((user) => connectors.list(user, query)),
      get: ({ params }) => data((user) => connectors.get(user, params.id)),
      update: ({ params, payload }) => data((user) => connectors.update(user, params.id, payload)),
      health: ({ params }) => data((user) => connectors.health(user, params.id)),
      check: ({ params }) => data((user) => connectors.check(user, params.id)),
      tools: ({ params }) => data((user) => connectors.tools(user, params.id)),
      remove: ({ params }) => removal((user) => connectors.remove(user, params.id))
    })
  })
)
