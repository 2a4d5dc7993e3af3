import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { text } from "../Schemas/Text.ts"
import { Authorization, Validation } from "./Authorization.ts"
import { extension } from "./Extension.ts"
import { faceAnswer, faceBody, faceErrors, faceHeaders } from "./Face.ts"
import { Idempotency } from "./Idempotency.ts"

const agent = { agentId: text(1, 100) }
/** A chat is named by the client that began it, or is a conversation. */
const chat = { ...agent, chat: text(1, 200) }

/** The UI message stream (v1) of the AI SDK, for `useChat` unchanged (CONTRACT.md section 14). */
export const UiStream = HttpApiGroup.make("uiStream")
  .add(
    HttpApiEndpoint.post("send", "/api/ui/:agentId/chat", {
      params: agent,
      payload: faceBody,
      headers: faceHeaders,
      success: faceAnswer,
      error: faceErrors
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Answer the last message of a chat as a UI message stream",
          ...extension
        })
      ),
    HttpApiEndpoint.get("resume", "/api/ui/:agentId/chat/:chat/stream", {
      params: chat,
      headers: faceHeaders,
      success: [faceAnswer, Schema.Void],
      error: faceErrors
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read the answer that is under way in a chat, if there is one",
        ...extension
      })
    ),
    HttpApiEndpoint.get("messages", "/api/ui/:agentId/chat/:chat", {
      params: chat,
      headers: faceHeaders,
      success: faceAnswer,
      error: faceErrors
    }).annotateMerge(OpenApi.annotations({ summary: "Read a chat as UI messages", ...extension })),
    HttpApiEndpoint.post("stop", "/api/ui/:agentId/chat/:chat/stop", {
      params: chat,
      headers: faceHeaders,
      success: faceAnswer,
      error: faceErrors
    })
      .middleware(Idempotency)
      .annotateMerge(
        OpenApi.annotations({ summary: "Cancel the answer that is under way in a chat", ...extension })
      )
  )
  .middleware(Validation)
  .middleware(Authorization)
  .annotateMerge(
    OpenApi.annotations({ title: "AI SDK UI", description: "Chats as `useChat` of the AI SDK speaks." })
  )
