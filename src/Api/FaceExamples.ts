import type * as Schema from "effect/Schema"

const agent = "agent_01m7zt5r3p8v4kq2n6w9x1y0zb"
const model = { id: agent, object: "model", created: 1795334400, owned_by: "ws_01m7zt5r3p8v4kq2n6w9x1y0zc" }
const question = "What happened in the night?"
const reply = "Nothing happened in the night."

/** What requests and answers of other protocols look like, by the names of their components. */
export const faceExamples: Readonly<Record<string, Schema.Json>> = {
  ModelList: { object: "list", data: [model] },
  Model: model,
  ChatCompletionRequest: { model: agent, messages: [{ role: "user", content: question }] },
  ChatCompletion: {
    id: "chatcmpl-01m7zt5r3p8v4kq2n6w9x1y0ze",
    object: "chat.completion",
    created: 1795334400,
    model: agent,
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: reply, refusal: null },
        logprobs: null,
        finish_reason: "stop"
      }
    ],
    usage: { prompt_tokens: 12, completion_tokens: 7, total_tokens: 19 }
  },
  ResponseRequest: { model: agent, input: question },
  Response: {
    id: "resp_01m7zt5r3p8v4kq2n6w9x1y0ze",
    object: "response",
    created_at: 1795334400,
    status: "completed",
    model: agent,
    output: [
      {
        id: "msg_01m7zt5r3p8v4kq2n6w9x1y0zk",
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: reply, annotations: [] }]
      }
    ]
  },
  DeletedResponse: { id: "resp_01m7zt5r3p8v4kq2n6w9x1y0ze", object: "response", deleted: true },
  UiChatRequest: {
    id: "chat-1",
    trigger: "submit-message",
    messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: question }] }]
  },
  UiChat: {
    id: "chat-1",
    messages: [
      { id: "msg_01m7zt5r3p8v4kq2n6w9x1y0zk", role: "assistant", parts: [{ type: "text", text: reply }] }
    ]
  },
  UiChatStopped: { stopped: true }
}
