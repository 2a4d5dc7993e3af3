import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Schema from "effect/Schema"
import { Api } from "../../Api/Api.ts"
import { CurrentUser } from "../../Api/Authorization.ts"
import { Conversation, Message } from "../../Schemas/Conversation.ts"
import { Chat } from "../../Services/Chat.ts"
import { data, removal } from "./Data.ts"
import { answer, eventStream } from "./EventStream.ts"
import { makeListing } from "./Listing.ts"

const list = makeListing(Message)

const encode = Schema.encodeSync(Schema.toCodecJson(Conversation))

export const layer = HttpApiBuilder.group(
  Api,
  "chat",
  Effect.fn(function* (handlers) {
    const chat = yield* Chat
    return handlers.handleAll({
      send: ({ payload }) =>
        Effect.flatMap(
          Effect.flatMap(CurrentUser, (user) => chat.send(user, payload)),
          (events) => answer((context) => eventStream(events, context))
        ),
      list: ({ query }) => data((user) => chat.list(user, query)),
      get: ({ params, query }) =>
        Effect.map(
          Effect.flatMap(CurrentUser, (user) => chat.get(user, params.id, query)),
          ({ conversation, messages }) => {
            const empty = JSON.stringify(encode({ ...conversation, messages: [] }))
            // In a text the quotes would be escaped.
            const [before, behind] = empty.split('"messages":[]')
            return list(messages, [`{"data":${before}"messages":[`, `]${behind}}`])
          }
        ),
      remove: ({ params }) => removal((user) => chat.remove(user, params.id))
    })
  })
)
