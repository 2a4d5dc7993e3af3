import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { PromptMessage } from "../Inference.ts"
import { argumentsOf, calledName, callId } from "./Calls.ts"
import { textOf } from "./Content.ts"
import * as Fields from "./Fields.ts"
import { toolNameOf } from "./ResponseItem.ts"

/** An item of what is asked. */
export type InputItem =
  | { readonly type: "message"; readonly role: "user" | "assistant" | "developer"; readonly text: string }
  | {
      readonly type: "call"
      readonly id: string
      readonly name: string
      readonly arguments: Schema.Json
      /** Of one of the agent's own tools, which was made already. */
      readonly result?: { readonly output: Schema.Json; readonly isError: boolean }
    }
  | { readonly type: "output"; readonly field: string; readonly id: string; readonly output: string }
  | { readonly type: "reference"; readonly field: string; readonly id: string }
  | {
      readonly type: "decision"
      readonly field: string
      readonly approvalId: string
      readonly isApproved: boolean
      readonly reason: string | null
    }
  | { readonly type: "nothing" }

const mostItems = 2_000
const longestId = 200
const longestReason = 1_000

/** What is asked: a text, or items. */
export const inputOf = (field: Fields.Field): Fields.Read<ReadonlyArray<InputItem>> =>
  typeof field.value === "string"
    ? Result.map(textOf(field), (text) => [{ type: "message", role: "user", text }])
    : Fields.list(1, mostItems, itemOf)(field)

const itemOf = (field: Fields.Field): Fields.Read<InputItem> =>
  Result.gen(function* () {
    const given = yield* Fields.item(field)
    const of = (name: string) => Fields.fieldOf(given, name, field.name)
    const type = of("type")
    switch (type.value ?? (given.role === undefined ? undefined : "message")) {
      case undefined:
        return yield* Fields.refuse(type.name, "is required")
      case "message":
        return { type: "message", role: yield* roleOf(of("role")), text: yield* textOf(of("content")) }
      case "function_call":
        return {
          type: "call",
          id: yield* callId(of("call_id")),
          name: yield* calledName(of("name")),
          arguments: yield* argumentsOf(of("arguments"))
        }
      case "function_call_output":
        return {
          type: "output",
          field: of("call_id").name,
          id: yield* callId(of("call_id")),
          output: yield* textOf(of("output"))
        }
      case "mcp_call":
        return yield* toolCallOf(of)
      case "item_reference": {
        const id = of("id")
        return { type: "reference", field: id.name, id: yield* Fields.requiredText(1, longestId)(id) }
      }
      case "mcp_approval_response": {
        const id = of("approval_request_id")
        return {
          type: "decision",
          field: id.name,
          approvalId: yield* Fields.requiredText(1, longestId)(id),
          isApproved: yield* requiredBoolean(of("approve")),
          reason: (yield* Fields.text(0, longestReason)(of("reason"))) ?? null
        }
      }
      // Who sends the output of a response back has this before the answer to it.
      case "mcp_approval_request":
        return { type: "nothing" }
      default:
        return yield* Fields.refuseUnsupported(
          type.name,
          "it may be message, function_call, function_call_output, item_reference, mcp_call, mcp_approval_request or mcp_approval_response"
        )
    }
  })

const roleOf = (field: Fields.Field): Fields.Read<"user" | "assistant" | "developer"> => {
  switch (field.value) {
    case "user":
    case "assistant":
    case "developer":
      return Result.succeed(field.value)
    case "system":
      return Result.succeed("developer")
    default:
      return Fields.refuse(field.name, 'must be "user", "assistant", "system" or "developer"')
  }
}

const requiredBoolean = (field: Fields.Field): Fields.Read<boolean> =>
  Result.flatMap(Fields.required(field), () => Result.map(Fields.boolean(field), (value) => value === true))

/** A call that was made here, as the output of a response has it. */
const toolCallOf = (of: (name: string) => Fields.Field): Fields.Read<InputItem> =>
  Result.gen(function* () {
    const output = yield* Fields.anyText(of("output"))
    const error = of("error")
    const label = (yield* Fields.text(0, longestId)(of("server_label"))) ?? ""
    return {
      type: "call",
      id: yield* Fields.requiredText(1, longestId)(of("id")),
      name: toolNameOf(label, yield* calledName(of("name"))),
      arguments: yield* argumentsOf(of("arguments")),
      result: {
        output: output ?? (Fields.isGiven(error) ? JSON.stringify(error.value) : ""),
        isError: Fields.isGiven(error)
      }
    }
  })

/** What a model is shown of items. */
export interface Asked {
  readonly parts: ReadonlyArray<PromptMessage>
  /** Said by whoever made the program, to be held to for as long as the conversation lasts. */
  readonly developer: string | null
  /** What people are shown of it: what the user said last. */
  readonly content: string
}

/**
 * Makes the messages of items, all references being resolved. `open` are the calls by id that wait in the conversation for
 * results of the caller, with their names: results come before all else there, since they answer the last message of it.
 */
export const askedOf = (
  items: ReadonlyArray<InputItem>,
  open: ReadonlyMap<string, string>
): Fields.Read<Asked> =>
  Result.gen(function* () {
    const names = new Map(open)
    const parts: Array<PromptMessage> = []
    const developer: Array<string> = []
    let content = ""
    for (const item of items) {
      switch (item.type) {
        case "message":
          if (item.role === "developer") developer.push(item.text)
          else if (item.role === "user") parts.push({ role: "user", content: item.text })
          else parts.push({ role: "assistant", content: item.text, toolCalls: [] })
          if (item.role === "user") content = item.text
          break
        case "call": {
          const { arguments: given, id, name, result } = item
          addCall(parts, { id, name, arguments: given })
          if (result === undefined) names.set(id, name)
          else addResult(parts, { id, name, result: result.output, isError: result.isError, durationMs: 0 })
          break
        }
        case "output": {
          const name = names.get(item.id)
          if (name === undefined) {
            return yield* Fields.refuse(item.field, "no function call of this id waits for its output")
          }
          names.delete(item.id)
          addResult(parts, { id: item.id, name, result: item.output, isError: false, durationMs: 0 })
          break
        }
        default:
      }
    }
    return {
      parts,
      developer: developer.length === 0 ? null : developer.join("\n\n"),
      content
    }
  })

type Assistant = Extract<PromptMessage, { readonly role: "assistant" }>
type Results = Extract<PromptMessage, { readonly role: "tool" }>

/** Calls of one answer are in one message, with what was said before them. */
const addCall = (parts: Array<PromptMessage>, call: Assistant["toolCalls"][number]) => {
  const last = parts.at(-1)
  if (last?.role === "assistant") parts[parts.length - 1] = { ...last, toolCalls: [...last.toolCalls, call] }
  else parts.push({ role: "assistant", content: "", toolCalls: [call] })
}

const addResult = (parts: Array<PromptMessage>, result: Results["results"][number]) => {
  const last = parts.at(-1)
  if (last?.role === "tool") parts[parts.length - 1] = { ...last, results: [...last.results, result] }
  else parts.push({ role: "tool", results: [result] })
}

/** The calls of what a model was shown that have no result, by id. */
export const openCalls = (parts: ReadonlyArray<PromptMessage>): ReadonlyMap<string, string> => {
  const open = new Map<string, string>()
  for (const message of parts) {
    if (message.role === "assistant") for (const { id, name } of message.toolCalls) open.set(id, name)
    if (message.role === "tool") for (const { id } of message.results) open.delete(id)
  }
  return open
}
