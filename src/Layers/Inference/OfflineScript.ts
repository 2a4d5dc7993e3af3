import type * as Schema from "effect/Schema"
import type { InferenceEvent, InferenceRequest, PromptMessage } from "../../Schemas/Inference.ts"
import { jsonProblem, mostLevels } from "../../Schemas/JsonLimits.ts"
import type { ToolResult } from "../../Schemas/Tool.ts"
import { exampleOf } from "./OfflineExample.ts"

/** A line `call <tool> <json arguments>` of a message (CONTRACT.md section 7). */
export type Instruction =
  | { readonly type: "call"; readonly name: string; readonly arguments: Schema.Json }
  | { readonly type: "unreadable"; readonly line: string }

/** The instructions of a message, in order. Arguments may be left out, which means none. */
export const instructionsOf = (content: string): ReadonlyArray<Instruction> =>
  content.split(/\r?\n/u).flatMap((line) => {
    // Trimmed before: a pattern that ends in white space would try every blank of a line of blanks as its end.
    const [, name, json] = /^call\s+([\w-]+)\s*(.*)$/su.exec(line.trim()) ?? []
    if (name === undefined) return []
    const argument = parse(json === undefined || json === "" ? "{}" : json)
    return [
      argument === undefined
        ? { type: "unreadable", line: line.trim() }
        : { type: "call", name, arguments: argument }
    ]
  })

const utf8 = new TextEncoder()

/** Arguments are bounded as bodies are: what one message asks for is to hold nobody up. */
const parse = (json: string): Schema.Json | undefined => {
  // What is shorter than it may have levels is over no limit; of such lines a message may have thousands.
  if (json.length > mostLevels && jsonProblem(utf8.encode(json)) !== undefined) return undefined
  try {
    return JSON.parse(json) as Schema.Json
  } catch {
    return undefined
  }
}

/**
 * What the offline provider sends next: the next call that was asked for, or the closing answer. Calls of
 * read-only tools that follow each other go together; any other waits for the results before it. Which tools it may or
 * must call, the format and the sampling of a request hold for it as for a model: arguments that nobody has said, and
 * an answer with a format, are examples of their schemas.
 */
export const nextEvents = (request: InferenceRequest, callId: string): ReadonlyArray<InferenceEvent> => {
  const question = request.messages.findLastIndex((message) => message.role === "user")
  const message = request.messages[question]
  const content = message?.role === "user" ? message.content : ""
  const instructions = instructionsOf(content)
  const results = request.messages
    .slice(question + 1)
    .flatMap((later) => (later.role === "tool" ? later.results : []))
  const asked = instructions.filter((instruction) => instruction.type === "call")
  const next = callsOf(request, asked, results.length)

  if (next.length > 0) {
    const calls = next.map((call, index) => ({
      id: index === 0 ? callId : `${callId}_${index + 1}`,
      name: call.name,
      arguments: call.arguments
    }))
    return [
      ...calls.map((call): InferenceEvent => ({ type: "tool_call", call })),
      { type: "finish", usage: usageOf(request.messages, JSON.stringify(calls)) }
    ]
  }
  const whole =
    request.format === undefined
      ? answerOf(content, instructions, results)
      : JSON.stringify(exampleOf(request.format.schema ?? { type: "object" }))
  return answered(request, whole)
}

type Call = Pick<Extract<Instruction, { type: "call" }>, "name" | "arguments">

const callsOf = (
  { toolChoice = "auto", tools }: InferenceRequest,
  asked: ReadonlyArray<Call>,
  results: number
): ReadonlyArray<Call> => {
  if (toolChoice === "none") return []
  const left = asked.slice(results)
  const isReadOnly = (name: string) => tools.some((tool) => tool.name === name && tool.readOnly)
  const together = left.findIndex(({ name }) => !isReadOnly(name))
  const next = left.slice(0, together === -1 ? left.length : Math.max(1, together))
  if (next.length > 0 || toolChoice === "auto") return next
  const wanted = toolChoice === "required" ? tools[0] : tools.find(({ name }) => name === toolChoice.name)
  return wanted === undefined ? [] : [{ name: wanted.name, arguments: exampleOf(wanted.parameters) }]
}

/** As far as it may go: a word is a token. */
const answered = (
  { messages, sampling = {} }: InferenceRequest,
  whole: string
): ReadonlyArray<InferenceEvent> => {
  const ends = (sampling.stop ?? []).map((stop) => whole.indexOf(stop)).filter((at) => at !== -1)
  const said = ends.length === 0 ? whole : whole.slice(0, Math.min(...ends))
  const most = sampling.maxOutputTokens ?? Number.POSITIVE_INFINITY
  const isCut = words(said) > most
  const answer = isCut ? (said.match(/\s*\S+/gu) ?? []).slice(0, most).join("") : said
  return [
    ...deltasOf(answer).map((delta): InferenceEvent => ({ type: "text", delta })),
    {
      type: "finish",
      usage: usageOf(messages, answer),
      ...(isCut && { truncated: "the model stopped at its limit of output tokens" })
    }
  ]
}

const answerOf = (
  content: string,
  instructions: ReadonlyArray<Instruction>,
  results: ReadonlyArray<ToolResult>
): string => {
  const introduction =
    "This is the built-in offline provider: no model is configured, so nothing was thought about this answer."
  const unreadable = instructions.flatMap((instruction) =>
    instruction.type === "unreadable"
      ? [`This line was not called, its arguments are not JSON, or too much of it: ${instruction.line}`]
      : []
  )
  const outcomes = results.map(
    ({ isError, name, result }) =>
      `${name} ${isError ? "failed" : "returned"}: ${typeof result === "string" ? result : JSON.stringify(result)}`
  )
  const rest = outcomes.length + unreadable.length === 0 ? [`You wrote: ${content}`] : []
  return [introduction, ...outcomes, ...unreadable, ...rest].join("\n")
}

const mostDeltas = 2_000

/** Words with the white space before them, several at a time of a long text: joined deltas give the text back. */
const deltasOf = (text: string): ReadonlyArray<string> => {
  const all = text.match(/\s*\S{1,200}|\s+$/gu) ?? [text]
  const each = Math.ceil(all.length / mostDeltas)
  return Array.from({ length: Math.ceil(all.length / each) }, (_, n) =>
    all.slice(n * each, (n + 1) * each).join("")
  )
}

/** A word is counted as a token: enough to see that usage is carried. */
const usageOf = (messages: ReadonlyArray<PromptMessage>, output: string) => ({
  inputTokens: messages.reduce(
    (sum, message) =>
      sum + words(message.role === "tool" ? JSON.stringify(message.results) : message.content),
    0
  ),
  outputTokens: words(output)
})

const words = (text: string): number => text.match(/\S+/gu)?.length ?? 0
