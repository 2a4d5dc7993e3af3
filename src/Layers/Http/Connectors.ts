import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import { Api } from "../../Api/Api.ts"
import { Connectors } from "../../Services/Connectors.ts"
import { data, removal } from "./Data.ts"

const layerConnectors = HttpApiBuilder.group(
  Api,
  "connectors",
  Effect.fn(function* (handlers) {
    const connectors = yield* Connectors
    return handlers.handleAll({
      create: ({ payload }) => data((user) => connectors.create(user, payload)),
      list: ({ query }) => data((user) => connectors.list(user, query))
    })
  })
)

const layerExtension = HttpApiBuilder.group(
  Api,
  "connectorsExtension",
  Effect.fn(function* (handlers) {
    const connectors = yield* Connectors
    return handlers.handleAll({
      get: ({ params }) => data((user) => connectors.get(user, params.id)),
      update: ({ params, payload }) => data((user) => connectors.update(user, params.id, payload)),
      remove: ({ params }) => removal((user) => connectors.remove(user, params.id))
    })
  })
)

export const layer = Layer.merge(layerConnectors, layerExtension)
