import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { Api } from "../../Api/Api.ts"
import { CurrentUser } from "../../Api/Authorization.ts"
import { Conversation, Message } from "../../Schemas/Conversation.ts"
import { Chat } from "../../Services/Chat.ts"
import { data, removal } from "./Data.ts"
import { eventStream } from "./EventStream.ts"
import { makeListing } from "./Listing.ts"

const list = makeListing(Message)

/** What of a conversation comes before its messages. */
const encodeHead = Schema.encodeSync(
  Schema.toCodecJson(Schema.Struct(Struct.omit(Conversation.fields, ["messages"])))
)

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
      get: ({ params, query }) =>
        Effect.map(
          Effect.flatMap(CurrentUser, (user) => chat.get(user, params.id, query)),
          ({ conversation, messages }) => {
            const head = JSON.stringify(encodeHead(conversation)).slice(0, -1)
            return list(messages, [`{"data":${head},"messages":[`, "]}}"])
          }
        ),
      remove: ({ params }) => removal((user) => chat.remove(user, params.id))
    })
  })
)
