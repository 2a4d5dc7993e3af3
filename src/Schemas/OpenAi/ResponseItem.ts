import type * as Schema from "effect/Schema"
import { argumentsText } from "./Calls.ts"

/** An item of the output of a response, as far as it is made. */
export type ResponseItem = MessageItem | CallItem | ToolItem | QuestionItem

type ItemStatus = "in_progress" | "completed" | "incomplete" | "failed"

/** What the model said in one of its answers. */
export interface MessageItem {
  readonly type: "message"
  readonly id: string
  readonly status: ItemStatus
  readonly text: string
}

/** A call of a tool of the caller. */
export interface CallItem {
  readonly type: "function_call"
  readonly id: string
  readonly status: ItemStatus
  readonly callId: string
  readonly name: string
  readonly arguments: Schema.Json
}

/** A call of one of the agent's own tools, which is made here. */
export interface ToolItem extends Omit<CallItem, "type"> {
  readonly type: "mcp_call"
  /** Which approval allowed it. */
  readonly approvalId: string | null
  readonly result?: Schema.Json
}

/** A call of one of the agent's own tools that somebody has to allow. */
export interface QuestionItem extends Omit<CallItem, "type"> {
  readonly type: "mcp_approval_request"
}

/** Of the agent's own tools those that no connector brings. */
const ownLabel = "agentd"

/** The connector that a tool is of, and its name there. */
const serverOf = (name: string) => {
  const at = name.indexOf("__")
  return at > 0
    ? { server_label: name.slice(0, at), name: name.slice(at + 2) }
    : { server_label: ownLabel, name }
}

/** The name of a tool that its item shows. */
export const toolNameOf = (label: string, name: string): string =>
  label === ownLabel ? name : `${label}__${name}`

export const textOfResult = (result: Schema.Json): string =>
  typeof result === "string" ? result : JSON.stringify(result)

export const textPart = (text: string) => ({ type: "output_text", annotations: [], logprobs: [], text })

/** An item as OpenAI's clients read it. */
export const toItem = (item: ResponseItem): Schema.JsonObject => {
  const { id, status, type } = item
  switch (item.type) {
    case "message":
      return { id, type, status, role: "assistant", content: item.text === "" ? [] : [textPart(item.text)] }
    case "function_call": {
      const { callId, name } = item
      return { id, type, status, call_id: callId, name, arguments: argumentsText(item.arguments) }
    }
    case "mcp_call": {
      const { approvalId, result } = item
      const isFailed = status === "failed"
      return {
        id,
        type,
        status,
        ...serverOf(item.name),
        arguments: argumentsText(item.arguments),
        approval_request_id: approvalId,
        output: result === undefined || isFailed ? null : textOfResult(result),
        error: isFailed
          ? {
              type: "mcp_tool_execution_error",
              content: [{ type: "text", text: textOfResult(result ?? "") }]
            }
          : null
      }
    }
    case "mcp_approval_request":
      return { id, type, ...serverOf(item.name), arguments: argumentsText(item.arguments) }
  }
}
