import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { Conversation, SendMessage } from "../Schemas/Conversation.ts"
import { type ConversationId, MessageId } from "../Schemas/Ids.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { BusyOrInactive, NotFound, RateLimited } from "./Errors.ts"
import { chatStream, EventStream, tells } from "./EventStream.ts"
import { data, listQuery, pathId, removed } from "./Fields.ts"
import { Idempotency } from "./Idempotency.ts"
import { newestOf, paging } from "./Paging.ts"

const conversations = "/api/chat/conversations"
const pages = paging(50)
const messages = newestOf(MessageId)

export const Chat = HttpApiGroup.make("chat")
  .add(
    HttpApiEndpoint.post("send", "/api/chat/messages", {
      payload: SendMessage,
      success: EventStream,
      error: [BusyOrInactive, RateLimited]
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Send a message and stream the answer",
          description:
            "Server-Sent Events `conversation`, `status`, `tool_call`, `tool_result`, then exactly one of " +
            "`done` and `error`. `autonomyLevel` is that of the agent's policy, else `semi-autonomous`, unless given, as for tasks. The first " +
            "`status` has `unavailableConnectors` (`id`, `name`) if the answer has to do without their tools. " +
            "A client that leaves loses nothing: the reply is finished and stored.",
          transform: tells(chatStream)
        })
      ),
    HttpApiEndpoint.get("list", conversations, {
      query: { ...listQuery, ...pages.query },
      success: data(Schema.Array(Conversation))
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List conversations, the latest first",
        description: "`messages` holds the last message, cut to 200 characters.",
        transform: pages.transform
      })
    ),
    HttpApiEndpoint.get("get", `${conversations}/:id`, {
      params: { id: pathId<ConversationId>() },
      query: messages.query,
      success: data(Conversation),
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read a conversation with all its messages, or a page of them from the end",
        description:
          "In order; a reply that is still under way is not among them. An answer has at most 32 MiB: over that it is " +
          "a 400, and `limit` and `before` read the messages a page at a time.",
        transform: messages.transform
      })
    ),
    HttpApiEndpoint.delete("remove", `${conversations}/:id`, {
      params: { id: pathId<ConversationId>() },
      success: removed,
      error: NotFound
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Delete a conversation with its messages",
        description: "By its owner only. A stream that is answering in it ends with `error`."
      })
    )
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Chat", description: "Conversations, answered as a stream." }))
