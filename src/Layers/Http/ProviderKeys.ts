import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../../Api/Api.ts"
import { ProviderKeys } from "../../Services/ProviderKeys.ts"
import { data, removal } from "./Data.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "providerKeys",
  Effect.fn(function* (handlers) {
    const providerKeys = yield* ProviderKeys
    return handlers.handleAll({
      list: ({ query }) => data((user) => providerKeys.list(user, query.workspaceId)),
      create: ({ payload }) => data((user) => providerKeys.create(user, payload)),
      update: ({ params, payload }) => data((user) => providerKeys.update(user, params.id, payload)),
      remove: ({ params }) => removal((user) => providerKeys.remove(user, params.id))
    })
  })
)
