import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { Conversation, SendMessage } from "../Schemas/Conversation.ts"
import type { ConversationId } from "../Schemas/Ids.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { BusyOrInactive, NotFound } from "./Errors.ts"
import { data, listQuery, maxOffset, pathId, removed, wholeNumber } from "./Fields.ts"

const conversations = "/api/chat/conversations"

/** Server-Sent Events as CONTRACT.md section 7 frames them: with ids and comment lines. */
export const EventStream = HttpApiSchema.WithHeaders(
  HttpApiSchema.StreamUint8Array({ contentType: "text/event-stream" }),
  { "cache-control": Schema.Literal("no-cache"), "x-accel-buffering": Schema.Literal("no") }
)

/** Specification, Chat. */
export const Chat = HttpApiGroup.make("chat")
  .add(
    HttpApiEndpoint.post("send", "/api/chat/messages", {
      payload: SendMessage,
      success: EventStream,
      error: BusyOrInactive
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Send a message and stream the answer",
        description:
          "Server-Sent Events `conversation`, `status`, `tool_call`, `tool_result`, then exactly one of " +
          "`done` and `error`. A client that leaves loses nothing: the reply is finished and stored."
      })
    ),
    HttpApiEndpoint.get("list", conversations, {
      query: {
        ...listQuery,
        limit: Schema.optionalKey(wholeNumber(1, 100)),
        offset: Schema.optionalKey(wholeNumber(0, maxOffset))
      },
      success: data(Schema.Array(Conversation))
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List conversations, the latest first",
        description: "`messages` holds the last message, cut to 200 characters. `limit` is 1 to 100 (50)."
      })
    ),
    HttpApiEndpoint.get("get", `${conversations}/:id`, {
      params: { id: pathId<ConversationId>() },
      success: data(Conversation),
      error: NotFound
    }).annotateMerge(OpenApi.annotations({ summary: "Read a conversation with all its messages" })),
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
