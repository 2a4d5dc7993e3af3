import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import { Api } from "../../Api/Api.ts"
import { Agents } from "../../Services/Agents.ts"
import { data, removal } from "./Data.ts"

const layerAgents = HttpApiBuilder.group(
  Api,
  "agents",
  Effect.fn(function* (handlers) {
    const agents = yield* Agents
    return handlers.handleAll({
      create: ({ payload }) => data((user) => agents.create(user, payload)),
      list: ({ query }) => data((user) => agents.list(user, query)),
      get: ({ params }) => data((user) => agents.get(user, params.id)),
      update: ({ params, payload }) => data((user) => agents.update(user, params.id, payload))
    })
  })
)

const layerExtension = HttpApiBuilder.group(
  Api,
  "agentsExtension",
  Effect.fn(function* (handlers) {
    const agents = yield* Agents
    return handlers.handleAll({
      remove: ({ params }) => removal((user) => agents.remove(user, params.id))
    })
  })
)

export const layer = Layer.merge(layerAgents, layerExtension)
