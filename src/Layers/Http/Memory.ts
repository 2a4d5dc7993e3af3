import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../../Api/Api.ts"
import { MemoryEntry } from "../../Schemas/MemoryEntry.ts"
import { Memory } from "../../Services/Memory.ts"
import { data, removal } from "./Data.ts"
import { listing } from "./Listing.ts"

const list = listing(MemoryEntry)

export const layer = HttpApiBuilder.group(
  Api,
  "memory",
  Effect.fn(function* (handlers) {
    const memory = yield* Memory
    return handlers.handleAll({
      upsert: ({ payload }) => data((user) => memory.upsert(user, payload)),
      list: ({ query }) => list((user) => memory.list(user, query)),
      get: ({ params }) => data((user) => memory.get(user, params.id)),
      remove: ({ params }) => removal((user) => memory.remove(user, params.id))
    })
  })
)
