import type { Answer, Protocol } from "./Models.ts"
import { begins } from "./Models.ts"

const lines = (...data: ReadonlyArray<object>) =>
  data.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("")

const events = (...data: ReadonlyArray<{ readonly type: string; readonly [field: string]: unknown }>) =>
  data.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join("")

const whole = (bytes: string): Answer => begins(bytes, (response) => void response.end())

const compatibleChunk = (choice: object) => ({
  id: "c1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, finish_reason: null, ...choice }]
})

/** An answer of a server that is compatible with OpenAI, of these deltas. */
export const compatible = (deltas: ReadonlyArray<object>, finish_reason: string): Answer =>
  whole(
    lines(
      ...[...deltas.map((delta) => ({ delta })), { delta: {}, finish_reason }].map(compatibleChunk)
    ).concat("data: [DONE]\n\n")
  )

export const compatibleCall = (id = "call_1", name = "echo") => ({
  tool_calls: [{ index: 0, id, type: "function", function: { name, arguments: "{}" } }]
})

const claudeUsage = { input_tokens: 3, output_tokens: 1 }

const claudeStart = {
  type: "message_start",
  message: {
    id: "m1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    stop_reason: null,
    usage: claudeUsage
  }
}

/** An answer of Anthropic, of these blocks. */
export const claude = (
  stop_reason: string,
  ...blocks: ReadonlyArray<readonly [content_block: object, ...deltas: ReadonlyArray<object>]>
): Answer =>
  whole(
    events(
      claudeStart,
      ...blocks.flatMap(([content_block, ...deltas], index) => [
        { type: "content_block_start", index, content_block },
        ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
        { type: "content_block_stop", index }
      ]),
      { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: claudeUsage },
      { type: "message_stop" }
    )
  )

/** An answer of Gemini, of these parts, each in a chunk of its own. */
export const gemini = (...parts: ReadonlyArray<object>): Answer =>
  whole(
    lines(
      ...parts.map((part) => ({ candidates: [{ content: { role: "model", parts: [part] }, index: 0 }] })),
      { candidates: [{ content: { role: "model", parts: [] }, finishReason: "STOP", index: 0 }] }
    )
  )

/** An answer of OpenAI's responses, of these items. */
const responses = (...items: ReadonlyArray<Readonly<Record<string, unknown>>>): Answer => {
  const response = { id: "resp_1", created_at: 1, model: "m", output: [], service_tier: null }
  const tokens = { input_tokens: 3, output_tokens: 1 }
  return whole(
    events(
      { type: "response.created", response },
      ...items.flatMap((item, output_index) => [
        {
          type: "response.output_item.added",
          output_index,
          item: { ...item, ...("encrypted_content" in item && { encrypted_content: "" }) }
        },
        ...(item.type === "message"
          ? [{ type: "response.output_text.delta", output_index, item_id: item.id, delta: item.text }]
          : []),
        { type: "response.output_item.done", output_index, item }
      ]),
      { type: "response.completed", response: { ...response, usage: tokens } }
    )
  )
}

/** The beginning of a thought, as it comes over the wire. */
export const thinkingChunk = (protocol: Protocol): string => {
  if (protocol === "google") {
    return lines({
      candidates: [{ content: { role: "model", parts: [{ text: "Hm", thought: true }] }, index: 0 }]
    })
  }
  if (protocol !== "anthropic") return lines(compatibleChunk({ delta: { reasoning_content: "Hm" } }))
  return events(
    claudeStart,
    {
      type: "content_block_start",
      index: 0,
      content_block: { type: "thinking", thinking: "", signature: "" }
    },
    { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm" } }
  )
}

export const encrypted = "Z0FBQUFB+/=="

const message = (text: string) => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  text,
  content: [{ type: "output_text", text, annotations: [] }]
})

export const openAi = {
  thinks: responses(
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: encrypted },
    message("Let me see."),
    {
      type: "function_call",
      id: "fc_1",
      call_id: "call_1",
      name: "echo",
      arguments: "{}",
      status: "completed"
    }
  ),
  says: (text: string) => responses(message(text)),
  /** Says so far, and then that it failed. */
  fails: (text: string) =>
    whole(
      begun(text) +
        events({
          type: "response.failed",
          response: {
            error: { code: "server_error", message: "The server had an error" },
            usage: null
          }
        })
    ),
  /** Says so far, and then that it stopped at its limit. */
  stops: (text: string) =>
    whole(
      begun(text) +
        events({
          type: "response.incomplete",
          response: {
            incomplete_details: { reason: "max_output_tokens" },
            usage: { input_tokens: 3, output_tokens: 1 }
          }
        })
    ),
  /** Says so far, and then no more. */
  breaks: (text: string) => whole(begun(text))
}

const begun = (text: string) =>
  events(
    { type: "response.created", response: { id: "resp_1", created_at: 1, model: "m" } },
    ...(text === ""
      ? []
      : [
          { type: "response.output_item.added", output_index: 0, item: message("") },
          { type: "response.output_text.delta", output_index: 0, item_id: "msg_1", delta: text }
        ])
  )

/** An answer that thinks, says something and calls `echo`, as each provider sends it. */
export const thinks: Readonly<Record<Exclude<Protocol, "openai">, Answer>> = {
  "openai-compatible": compatible(
    [
      { role: "assistant", reasoning_content: "First\u2028I " },
      { reasoning_content: "echo. 🙂" },
      { content: "Let me see." },
      compatibleCall()
    ],
    "tool_calls"
  ),
  anthropic: claude(
    "tool_use",
    [
      { type: "thinking", thinking: "", signature: "" },
      { type: "thinking_delta", thinking: "First I " },
      { type: "thinking_delta", thinking: "echo." },
      { type: "signature_delta", signature: "c2lnbmVk+/==" }
    ],
    [{ type: "redacted_thinking", data: "cmVkYWN0ZWQ=" }],
    [
      { type: "text", text: "" },
      { type: "text_delta", text: "Let me see." }
    ],
    [
      { type: "thinking", thinking: "", signature: "" },
      { type: "thinking_delta", thinking: "Now." },
      { type: "signature_delta", signature: "YWdhaW4=" }
    ],
    [
      { type: "tool_use", id: "toolu_1", name: "echo", input: {} },
      { type: "input_json_delta", partial_json: "{}" }
    ]
  ),
  google: gemini(
    { text: "First I ", thought: true },
    { text: "echo.", thought: true, thoughtSignature: "dGhvdWdodA==" },
    { text: "", thoughtSignature: "ZW1wdHk=" },
    { text: "Let me " },
    { text: "see." },
    { text: "", thoughtSignature: "dGV4dA==" },
    { functionCall: { id: "call_1", name: "echo", args: {} }, thoughtSignature: "Y2FsbA==" }
  )
}

/** What the second request shows of that answer: exactly as it came. */
// biome-ignore lint/suspicious/noExplicitAny: three wire formats
export const thoughtOf: Readonly<Record<Exclude<Protocol, "openai">, (body: any) => unknown>> = {
  "openai-compatible": ({ messages }) => {
    const { content, reasoning_content } = messages.find(({ role }: { role: string }) => role === "assistant")
    return { content, reasoning_content }
  },
  anthropic: ({ messages }) =>
    messages[1].content.map(({ cache_control: _, ...block }: Record<string, unknown>) => block),
  google: ({ contents }) => contents[1].parts
}

export const thought: Readonly<Record<Exclude<Protocol, "openai">, unknown>> = {
  "openai-compatible": { content: "Let me see.", reasoning_content: "First\u2028I echo. 🙂" },
  anthropic: [
    { type: "thinking", thinking: "First I echo.", signature: "c2lnbmVk+/==" },
    { type: "redacted_thinking", data: "cmVkYWN0ZWQ=" },
    { type: "text", text: "Let me see." },
    { type: "thinking", thinking: "Now.", signature: "YWdhaW4=" },
    { type: "tool_use", id: "toolu_1", name: "echo", input: {} }
  ],
  google: [
    { text: "First I echo.", thought: true, thoughtSignature: "dGhvdWdodA==" },
    { text: "", thoughtSignature: "ZW1wdHk=" },
    { text: "Let me see.", thoughtSignature: "dGV4dA==" },
    { functionCall: { id: "call_1", name: "echo", args: {} }, thoughtSignature: "Y2FsbA==" }
  ]
}
