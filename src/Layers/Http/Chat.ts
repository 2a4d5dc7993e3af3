import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../../Api/Api.ts"
import { CurrentUser } from "../../Api/Authorization.ts"
import { Chat } from "../../Services/Chat.ts"
import { data, removal } from "./Data.ts"
import { eventStream } from "./EventStream.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "chat",
  Effect.fn(function* (handlers) {
    const chat = yield* Chat
    return handlers.handleAll({
      send: ({ payload }) =>
        Effect.map(
          Effect.flatMap(CurrentUser, (user) => chat.send(user, payload)),
          (events) => eventStream(events)
        ),
      list: ({ query }) => data((user) => chat.list(user, query)),
      get: ({ params }) => data((user) => chat.get(user, params.id)),
      remove: ({ params }) => removal((user) => chat.remove(user, params.id))
    })
  })
)
