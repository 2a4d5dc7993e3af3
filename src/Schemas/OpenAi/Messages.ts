import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { PromptMessage } from "../Inference.ts"
import type { ToolCall } from "../Tool.ts"
import * as Calls from "./Calls.ts"
import * as Content from "./Content.ts"
import * as Fields from "./Fields.ts"

/** A conversation as a caller has it. */
export interface Conversation {
  /** Of system and developer messages, wherever they stand, in order; null: there are none. */
  readonly instructions: string | null
  readonly messages: ReadonlyArray<PromptMessage>
  /** What the user said last. */
  readonly content: string
}

const mostMessages = 4_000
const mostCalls = 128

/**
 * The messages of a chat completion. A tool message answers a call of the assistant's message before it; the calls that
 * nothing answers are left as they are. Where there are instructions alone, they are what the user says.
 */
export const conversationOf = (field: Fields.Field): Fields.Read<Conversation> =>
  Result.gen(function* () {
    const given = yield* Fields.list(1, mostMessages, itemOf)(field)
    const instructions: Array<string> = []
    const messages: Array<PromptMessage> = []
    let content = ""
    for (const { message, name } of given) {
      const role = Fields.fieldOf(message, "role", name)
      switch (role.value) {
        case "system":
        case "developer":
          instructions.push(yield* Content.textOf(Fields.fieldOf(message, "content", name)))
          break
        case "user":
          content = yield* userText(message, name)
          messages.push({ role: "user", content })
          break
        case "assistant":
          messages.push(yield* assistantOf(message, name))
          break
        case "tool":
          yield* addResult(messages, message, name)
          break
        default:
          return yield* role.value === "function"
            ? Fields.refuseUnsupported(role.name, "results of tools are messages of the role tool")
            : Fields.refuse(role.name, 'must be "system", "developer", "user", "assistant" or "tool"')
      }
    }
    const system = instructions.join("\n\n")
    if (messages.length > 0) {
      return { instructions: instructions.length === 0 ? null : system, messages, content }
    }
    return { instructions: null, messages: [{ role: "user", content: system }], content: system }
  })

const itemOf = (field: Fields.Field) =>
  Result.map(Fields.item(field), (message) => ({ message, name: field.name }))

/** Who says it is said before it: a model is told of one user alone. */
const userText = (message: Schema.JsonObject, name: string): Fields.Read<string> =>
  Result.gen(function* () {
    const text = yield* Content.textOf(Fields.fieldOf(message, "content", name))
    const speaker = yield* Fields.text(1, 64)(Fields.fieldOf(message, "name", name))
    return speaker === undefined ? text : `${speaker}: ${text}`
  })

const assistantOf = (message: Schema.JsonObject, name: string): Fields.Read<PromptMessage> =>
  Result.gen(function* () {
    for (const key of ["audio", "function_call"]) {
      const old = Fields.fieldOf(message, key, name)
      if (Fields.isGiven(old)) return yield* Fields.refuseUnsupported(old.name)
    }
    const calls = Fields.fieldOf(message, "tool_calls", name)
    const toolCalls = Fields.isGiven(calls) ? yield* Fields.list(0, mostCalls, callOf)(calls) : []
    const content = Fields.fieldOf(message, "content", name)
    const refusal = yield* Fields.anyText(Fields.fieldOf(message, "refusal", name))
    if (!Fields.isGiven(content) && refusal === undefined && toolCalls.length === 0) {
      return yield* Fields.refuse(content.name, "is required where there are no tool_calls")
    }
    const text = Fields.isGiven(content) ? yield* Content.textOf(content) : (refusal ?? "")
    return { role: "assistant", content: text, toolCalls }
  })

const callOf = (field: Fields.Field): Fields.Read<ToolCall> =>
  Result.gen(function* () {
    const call = yield* Fields.item(field)
    const type = Fields.fieldOf(call, "type", field.name)
    if (type.value !== undefined && type.value !== "function") {
      return yield* Fields.refuseUnsupported(type.name, "tools are functions")
    }
    const within = Fields.fieldOf(call, "function", field.name)
    const called = yield* Fields.requiredObject(within)
    return {
      id: yield* Calls.callId(Fields.fieldOf(call, "id", field.name)),
      name: yield* Calls.calledName(Fields.fieldOf(called, "name", within.name)),
      arguments: yield* Calls.argumentsOf(Fields.fieldOf(called, "arguments", within.name))
    }
  })

const addResult = (
  messages: Array<PromptMessage>,
  message: Schema.JsonObject,
  name: string
): Fields.Read<void> =>
  Result.gen(function* () {
    const idField = Fields.fieldOf(message, "tool_call_id", name)
    const id = yield* Calls.callId(idField)
    const last = messages.at(-1)
    const results = last?.role === "tool" ? last.results : []
    const asking = last?.role === "tool" ? messages.at(-2) : last
    const call = asking?.role === "assistant" ? asking.toolCalls.find((made) => made.id === id) : undefined
    if (call === undefined) {
      return yield* Fields.refuse(idField.name, "must be that of a call of the assistant's message before it")
    }
    if (results.some((result) => result.id === id)) {
      return yield* Fields.refuse(idField.name, "must be that of a call that has no result yet")
    }
    const result = yield* Content.textOf(Fields.fieldOf(message, "content", name))
    const added: PromptMessage = {
      role: "tool",
      results: [...results, { id, name: call.name, result, isError: false, durationMs: 0 }]
    }
    if (last?.role === "tool") messages[messages.length - 1] = added
    else messages.push(added)
  })
