import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import { Api } from "../../Api/Api.ts"
import { Memory } from "../../Services/Memory.ts"
import { data, removal } from "./Data.ts"

const layerMemory = HttpApiBuilder.group(
  Api,
  "memory",
  Effect.fn(function* (handlers) {
    const memory = yield* Memory
    return handlers.handleAll({
      upsert: ({ payload }) => data((user) => memory.upsert(user, payload)),
      list: ({ query }) => data((user) => memory.list(user, query))
    })
  })
)

const layerExtension = HttpApiBuilder.group(
  Api,
  "memoryExtension",
  Effect.fn(function* (handlers) {
    const memory = yield* Memory
    return handlers.handleAll({
      remove: ({ params }) => removal((user) => memory.remove(user, params.id))
    })
  })
)

export const layer = Layer.merge(layerMemory, layerExtension)
