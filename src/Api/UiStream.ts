import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { text } from "../Schemas/Text.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { extension } from "./Extension.ts"
import { faceAnswer, faceBody, faceErrors, faceHeaders } from "./Face.ts"
import { Idempotency } from "./Idempotency.ts"

const uiChat = faceAnswer("UiChat")

const agent = { agentId: text(1, 100) }
/** A chat is named by the client that began it, or is a conversation. */
const chat = { ...agent, chat: text(1, 200) }

/** The UI message stream (v1) of the AI SDK, for `useChat` unchanged (CONTRACT.md section 14). */
export const UiStream = HttpApiGroup.make("uiStream")
  .add(
    HttpApiEndpoint.post("send", "/api/ui/:agentId/chat", {
      params: agent,
      payload: faceBody("UiChatRequest"),
      headers: faceHeaders,
      success: uiChat,
      error: faceErrors
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Answer the last message of a chat as a UI message stream",
          description:
            "The body is what `useChat` sends. The chat is a stored conversation, which its `id` names for this user; of its messages only what is new counts. `default` is the workspace's default behaviour.",
          ...extension
        })
      ),
    HttpApiEndpoint.get("resume", "/api/ui/:agentId/chat/:chat/stream", {
      params: chat,
      headers: faceHeaders,
      success: [uiChat, Schema.Void],
      error: faceErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read the answer that is under way in a chat, if there is one",
        description: "From its beginning; a 204 where nothing is under way.",
        ...extension
      })
    ),
    HttpApiEndpoint.get("messages", "/api/ui/:agentId/chat/:chat", {
      params: chat,
      headers: faceHeaders,
      success: uiChat,
      error: faceErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read a chat as UI messages",
        description: "Its newest messages, for a page that is loaded again.",
        ...extension
      })
    ),
    HttpApiEndpoint.post("stop", "/api/ui/:agentId/chat/:chat/stop", {
      params: chat,
      headers: faceHeaders,
      success: faceAnswer("UiChatStopped"),
      error: faceErrors
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Cancel the answer that is under way in a chat",
          description:
            "What was said so far is not kept as a reply. Where nothing is under way nothing changes.",
          ...extension
        })
      )
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(
    OpenApi.annotations({ title: "UI stream", description: "Chats as `useChat` of the AI SDK speaks." })
  )
