import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../../Api/Api.ts"
import { Webhooks } from "../../Services/Webhooks.ts"
import { data, removal } from "./Data.ts"
import { setNextAfter } from "./NextAfter.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "webhooks",
  Effect.fn(function* (handlers) {
    const webhooks = yield* Webhooks
    return handlers.handleAll({
      list: ({ query }) => data((user) => webhooks.list(user, query.workspaceId)),
      create: ({ payload }) => data((user) => webhooks.create(user, payload)),
      get: ({ params }) => data((user) => webhooks.find(user, params.id)),
      update: ({ params, payload }) => data((user) => webhooks.update(user, params.id, payload)),
      remove: ({ params }) => removal((user) => webhooks.remove(user, params.id)),
      rotateSecret: ({ params }) => data((user) => webhooks.rotateSecret(user, params.id)),
      test: ({ params }) => data((user) => webhooks.test(user, params.id)),
      deliveries: ({ params, query }) =>
        data(
          Effect.fnUntraced(function* (user) {
            const { deliveries, next } = yield* webhooks.deliveries(user, { ...query, ...params })
            yield* setNextAfter(next)
            return deliveries
          })
        ),
      redeliver: ({ params }) => data((user) => webhooks.redeliver(user, params.id))
    })
  })
)
