import type { AnsweringModel } from "./AnsweringModel.ts"
import type { InferenceRequest, PromptMessage } from "./Inference.ts"
import { kindOf, type StoredRun } from "./Run.ts"
import { cut } from "./Text.ts"
import type { ToolCall } from "./Tool.ts"
import type { ToolBinding } from "./ToolBinding.ts"
import type { CountedUsage, Usage } from "./Usage.ts"

/**
 * Spans of models, agents and tools by the semantic conventions of OpenTelemetry for generative AI, version 1.41.0 (the
 * last before they moved to a repository of their own; status: development), and for what they have no name
 * `agentd.…`. No text of a user, model or tool is in them but where it says so.
 */
export interface SpanOf {
  readonly name: string
  readonly kind: "client" | "internal"
  readonly attributes: Attributes
}

export type Attributes = Readonly<
  Record<string, string | number | boolean | ReadonlyArray<string> | undefined>
>

/** Names come from users, models and providers. */
const longestName = 200
const nameOf = (text: string): string => cut(text, longestName)

/** Providers as the conventions name them; others by their own name. */
const providerNames = new Map([
  ["google", "gcp.gemini"],
  // What is compatible with it is spoken to as OpenAI is; who it is the address tells.
  ["openai-compatible", "openai"]
])

export const providerName = (provider: string): string => providerNames.get(provider) ?? nameOf(provider)

/** One execution of a run or turn. */
export const invokeAgent = (run: StoredRun): SpanOf => ({
  name: "invoke_agent",
  kind: "internal",
  attributes: {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.id": run.agentId ?? undefined,
    "gen_ai.conversation.id": run.turn?.conversationId,
    "agentd.run.id": run.id,
    "agentd.run.kind": kindOf(run),
    "agentd.run.epoch": run.epoch,
    "agentd.workspace.id": run.workspaceId,
    "agentd.project.id": run.projectId ?? undefined,
    "agentd.cron_job.id": run.cronJobId ?? undefined
  }
})

/** What is known of the agent when it was looked up. */
export const agentNamed = (name: string): SpanOf["name"] => `invoke_agent ${nameOf(name)}`

export const agentAttributes = (name: string): Attributes => ({ "gen_ai.agent.name": nameOf(name) })

/** How an execution left its run, and what that cost so far, all executions together. */
export const executed = (
  { code, status }: { readonly status: string; readonly code?: string | undefined },
  usage: Usage
): Attributes => ({
  ...usageAttributes(usage),
  "agentd.run.status": status,
  "error.type": code
})

const usageAttributes = ({ cachedInputTokens, inputTokens, outputTokens }: CountedUsage): Attributes => ({
  "gen_ai.usage.input_tokens": inputTokens,
  "gen_ai.usage.output_tokens": outputTokens,
  "gen_ai.usage.cache_read.input_tokens": cachedInputTokens
})

/** One question to a model, all tries of it. */
export const chat = ({ model, provider }: AnsweringModel): SpanOf => ({
  name: `chat ${nameOf(model)}`,
  // What is built in is asked within the process.
  kind: provider === "offline" ? "internal" : "client",
  attributes: {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": providerName(provider),
    "gen_ai.request.model": nameOf(model)
  }
})

/** Where it is asked, and what is asked of it beside the question. */
export const asked = (given: {
  readonly address: string
  readonly maxOutputTokens: number | null
  readonly request?: Pick<InferenceRequest, "format" | "sampling">
}): Attributes => {
  const url = URL.parse(given.address)
  const usual = url?.protocol === "http:" ? 80 : 443
  return {
    "gen_ai.request.max_tokens": given.maxOutputTokens ?? undefined,
    ...wanted(given.request ?? {}),
    "gen_ai.request.stream": true,
    "server.address": url?.hostname,
    "server.port": url === null ? undefined : Number(url.port) || usual
  }
}

/** What a caller wants of the answer; at which texts it is to stop is a text of its own. */
const wanted = ({ format, sampling = {} }: Pick<InferenceRequest, "format" | "sampling">): Attributes => ({
  ...(format !== undefined && { "gen_ai.output.type": "json" }),
  ...(sampling.temperature !== undefined && { "gen_ai.request.temperature": sampling.temperature }),
  ...(sampling.topP !== undefined && { "gen_ai.request.top_p": sampling.topP }),
  ...(sampling.seed !== undefined && { "gen_ai.request.seed": sampling.seed }),
  ...(sampling.frequencyPenalty !== undefined && {
    "gen_ai.request.frequency_penalty": sampling.frequencyPenalty
  }),
  ...(sampling.presencePenalty !== undefined && {
    "gen_ai.request.presence_penalty": sampling.presencePenalty
  })
})

const word = /^[\w.-]{1,50}$/u

/** What a provider says of its answer; `scrub` leaves secrets out of it. */
export const responded = (
  given: {
    readonly id?: string | undefined
    readonly model?: string | undefined
    readonly finishReason?: { readonly raw?: string | undefined; readonly unified: string } | undefined
  },
  scrub: (text: string) => string
): Attributes => {
  const said = (text: string | undefined) =>
    text === undefined ? undefined : nameOf(scrub(text.slice(0, 1000)))
  const reason = given.finishReason
  const isWord = reason?.raw !== undefined && word.test(reason.raw)
  return {
    "gen_ai.response.id": said(given.id),
    "gen_ai.response.model": said(given.model),
    "gen_ai.response.finish_reasons":
      reason === undefined
        ? undefined
        : [isWord ? scrub(reason.raw ?? "") : reason.unified.replaceAll("-", "_")]
  }
}

/** What a question has cost, as its provider counts; nothing where it does not. */
export const counted = (usage: CountedUsage | undefined): Attributes =>
  usage === undefined ? {} : usageAttributes(usage)

/** One call of a tool. One that there is none of is named by nobody but the model: it is not told. */
export const executeTool = (
  { id, name }: Pick<ToolCall, "id" | "name">,
  destination: { readonly binding: ToolBinding | null } | undefined
): SpanOf => ({
  name: destination === undefined ? "execute_tool" : `execute_tool ${nameOf(name)}`,
  kind: "internal",
  attributes: {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": destination === undefined ? "_OTHER" : nameOf(name),
    "gen_ai.tool.call.id": nameOf(id),
    // One of a connector calls what is outside; the others are functions of this program.
    "gen_ai.tool.type": destination?.binding == null ? "function" : "extension",
    "agentd.connector.id": destination?.binding?.connectorId
  }
})

/** Of texts, where they may be told: the last messages of so much JSON, and of each text its beginning. */
const mostContent = 16_384
const longestText = 2_048

const content = (value: unknown): string => {
  const json =
    JSON.stringify(value, (_, one) => (typeof one === "string" ? cut(one, longestText) : one)) ?? "null"
  return json.length <= mostContent ? json : JSON.stringify(cut(json, longestText))
}

const partsOf = (message: PromptMessage): ReadonlyArray<object> => {
  switch (message.role) {
    case "user":
      return [{ type: "text", content: message.content }]
    case "assistant":
      return [
        ...(message.content === "" ? [] : [{ type: "text", content: message.content }]),
        ...message.toolCalls.map(({ arguments: given, id, name }) => ({
          type: "tool_call",
          id,
          name,
          arguments: given
        }))
      ]
    case "tool":
      return message.results.map(({ id, result }) => ({ type: "tool_call_response", id, response: result }))
  }
}

const lastOf = (messages: ReadonlyArray<PromptMessage>): string => {
  const told: Array<string> = []
  let length = 2
  for (const message of messages.toReversed()) {
    const json = content({ role: message.role, parts: partsOf(message) })
    length += json.length + 1
    if (length > mostContent) break
    told.unshift(json)
  }
  return `[${told.join(",")}]`
}

/** The texts of a question. */
export const questionContent = ({ messages, system }: InferenceRequest): Attributes => ({
  "gen_ai.system_instructions": system === null ? undefined : content([{ type: "text", content: system }]),
  "gen_ai.input.messages": lastOf(messages)
})

/** The texts of an answer. */
export const answerContent = (text: string, toolCalls: ReadonlyArray<ToolCall>): Attributes => ({
  "gen_ai.output.messages": lastOf([{ role: "assistant", content: text, toolCalls }])
})

/** What a tool was given. */
export const argumentContent = (argument: unknown): Attributes => ({
  "gen_ai.tool.call.arguments": content(argument)
})

/** What came of it. */
export const resultContent = (result: unknown): Attributes => ({ "gen_ai.tool.call.result": content(result) })
