import type * as Schema from "effect/Schema"
import type { ConversationId } from "../Ids.ts"
import type { AnswerFormat } from "../Inference.ts"
import type { TurnInput } from "../TurnInput.ts"
import type { CountedUsage } from "../Usage.ts"
import { problemOf, statusOfFailure } from "./Problem.ts"
import { type ResponseKey, responseIdOf } from "./ResponseId.ts"
import type { ResponseEnd } from "./ResponseTold.ts"
import { responseUsage } from "./Usage.ts"

/** What of a response is the same from its beginning to its end. */
export interface ResponseFacts {
  readonly key: ResponseKey
  readonly createdAt: Date
  /** Null: in one that is not the caller's to go on with. */
  readonly conversationId: ConversationId | null
  readonly input: TurnInput | null
  /** Where the request named none. */
  readonly model: string
}

/** How far a response is. */
export interface ResponseState {
  readonly status: "queued" | "in_progress" | Exclude<ResponseEnd["status"], "broken">
  readonly output: ReadonlyArray<Schema.JsonObject>
  readonly usage?: CountedUsage | null
  readonly end?: ResponseEnd | undefined
  readonly endedAt?: Date | null
}

const secondsOf = (at: Date): number => Math.floor(at.getTime() / 1000)

/** A response as OpenAI's clients read it. */
export const toResponse = (facts: ResponseFacts, state: ResponseState): Schema.JsonObject => {
  const { conversationId, createdAt, input, key } = facts
  const echo = input?.echo ?? {}
  const { end, endedAt, output, status, usage } = state
  const failure = end !== undefined && "code" in end ? end : undefined
  return {
    id: responseIdOf(key),
    object: "response",
    created_at: secondsOf(createdAt),
    completed_at: status === "completed" && endedAt != null ? secondsOf(endedAt) : null,
    status,
    background: echo.background ?? false,
    error: status === "failed" && failure !== undefined ? errorOf(failure.code, failure.error) : null,
    incomplete_details: status === "incomplete" ? { reason: reasonOf(failure?.code) } : null,
    instructions: echo.instructions ?? null,
    max_output_tokens: input?.sampling.maxOutputTokens ?? null,
    max_tool_calls: null,
    model: echo.model ?? facts.model,
    output: [...output],
    parallel_tool_calls: true,
    previous_response_id:
      key.leg > 1 ? responseIdOf({ ...key, leg: key.leg - 1 }) : (echo.previous_response_id ?? null),
    conversation: conversationId === null ? null : { id: conversationId },
    reasoning: { effort: null, summary: null },
    service_tier: "default",
    store: echo.store ?? true,
    temperature: input?.sampling.temperature ?? null,
    text: { format: formatOf(input?.format ?? null), verbosity: "medium" },
    tool_choice: choiceOf(input?.toolChoice ?? "auto"),
    tools: (input?.tools ?? []).map(({ description, name, parameters }) => ({
      type: "function",
      name,
      description,
      parameters,
      strict: false
    })),
    top_logprobs: 0,
    top_p: input?.sampling.topP ?? null,
    truncation: "auto",
    usage: usage == null ? null : responseUsage(usage),
    user: null,
    metadata: echo.metadata ?? {}
  }
}

const formatOf = (format: AnswerFormat | null): Schema.JsonObject => {
  if (format === null) return { type: "text" }
  const { description, name, schema } = format
  return schema === null
    ? { type: "json_object" }
    : { type: "json_schema", name, description: description ?? null, schema, strict: true }
}

const choiceOf = (choice: TurnInput["toolChoice"]): Schema.Json =>
  typeof choice === "string" ? choice : { type: "function", name: choice.name }

const reasonOf = (code: string | undefined) =>
  code === "inference_content_filter" ? "content_filter" : "max_output_tokens"

/** OpenAI has few words for what goes wrong with a response; ours is its `type`. */
const errorOf = (code: string, error: string): Schema.JsonObject => {
  const status = statusOfFailure(code)
  const word = status === 429 ? "rate_limit_exceeded" : status === 400 ? "invalid_prompt" : "server_error"
  return { code: word, message: error, type: code }
}

/** How a stream ends that can be taken up again. */
export const brokenEvent = (sequence: number, code: string, error: string): Schema.JsonObject => ({
  type: "error",
  sequence_number: sequence,
  code: problemOf(statusOfFailure(code), code, error).code,
  message: error,
  param: null
})
