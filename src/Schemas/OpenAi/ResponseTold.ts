import type * as Schema from "effect/Schema"
import { isThinking, type NumberedEvent, stride } from "../RunEvent.ts"
import { argumentsText } from "./Calls.ts"
import { itemIdOf, type ResponseKey } from "./ResponseId.ts"
import { type ResponseItem, type ToolItem, textPart, toItem } from "./ResponseItem.ts"

/** An event of a response. One of its life holds the response itself, which whoever tells it adds. */
export interface ResponseEvent {
  readonly type: string
  readonly sequence: number
  /** Undefined: of its life, which goes on by it, or has come to `end`. */
  readonly item?: { readonly index: number; readonly more: Schema.JsonObject }
}

/** How a response came to its end. */
export type ResponseEnd =
  | { readonly status: "completed" }
  | {
      readonly status: "failed" | "incomplete" | "cancelled"
      readonly code: string
      readonly error: string
    }
  /** The stream alone has ended, and can be taken up again. */
  | { readonly status: "broken"; readonly code: string; readonly error: string }

/** How many numbers each execution has for itself: an event makes one, but for those that begin or end something. */
export const numbersOfRange = 2 * stride

interface Call {
  readonly id: string
  readonly name: string
  readonly arguments: Schema.Json
  approvalId: string | null
  /** Where its item is, and how it is, if it is shown in this leg. */
  index?: number
  item?: ToolItem
}

/**
 * What a turn told, as the events of one of its responses (CONTRACT.md section 14).
 *
 * Numbers of events and items follow from the kept events of the turn alone, so that each node gives the same ones. An
 * execution of the turn that takes over from one that was lost has a range of ids of its own (`stride`), and so of numbers,
 * behind all that may have been told before. Deltas that come joined have the number of the last of them. What the lost one may have told of an answer is void, and an item of it
 * cannot be taken back: so where the new one asks the model, an index is passed over for each execution since the model was asked
 * before, and the item that may have been begun there is told to be `incomplete`, without text.
 */
export const makeResponseTold = (key: ResponseKey, callerTools: ReadonlySet<string>, isQueued: boolean) => {
  const items = new Map<number, ResponseItem>()
  const calls = new Map<string, Call>()
  let told: Array<ResponseEvent> = []
  let leg = 1
  let next = 0
  let lastId = 0
  let nextIndex = 0
  /** In which range of ids the model was asked last. */
  let askedIn = 0
  let hasBegun = false
  let isEmpty = true
  let isInProgress = false
  let open: { readonly index: number; readonly id: string; text: string } | undefined
  let question: string | undefined
  let end: ResponseEnd | undefined

  const tell = (type: string, item?: ResponseEvent["item"]) => {
    told.push({ type: `response.${type}`, sequence: next++, ...(item !== undefined && { item }) })
  }
  const begin = (prefix: string) => {
    const index = nextIndex++
    return { index, id: itemIdOf(prefix, key, index) }
  }
  const tellItem = (step: "added" | "done", index: number, item: ResponseItem) => {
    items.set(index, item)
    tell(`output_item.${step}`, { index, more: { item: toItem(item) } })
  }
  const tellOf = (type: string, index: number, id: string, more: Schema.JsonObject = {}) =>
    tell(type, { index, more: { item_id: id, ...more } })

  const say = (delta: string, joined: number) => {
    if (delta === "") return
    if (open === undefined) {
      open = { ...begin("msg"), text: "" }
      tellItem("added", open.index, { type: "message", id: open.id, status: "in_progress", text: "" })
      tellOf("content_part.added", open.index, open.id, { content_index: 0, part: textPart("") })
    }
    const { id, index } = open
    open.text += delta
    next += joined
    tellOf("output_text.delta", index, id, { content_index: 0, delta, logprobs: [] })
  }
  const closeText = (status: "completed" | "incomplete" = "completed") => {
    if (open === undefined) return
    const { id, index, text } = open
    open = undefined
    tellOf("output_text.done", index, id, { content_index: 0, text, logprobs: [] })
    tellOf("content_part.done", index, id, { content_index: 0, part: textPart(text) })
    tellItem("done", index, { type: "message", id, status, text })
  }
  const passOver = (range: number) => {
    for (; askedIn < range; askedIn++) {
      const { id, index } = begin("msg")
      const item = { type: "message", id, text: "" } as const
      tellItem("added", index, { ...item, status: "in_progress" })
      tellItem("done", index, { ...item, status: "incomplete" })
      items.delete(index)
    }
  }
  const tellArguments = (kind: string, index: number, id: string, given: Schema.Json) => {
    const text = argumentsText(given)
    tellOf(`${kind}_arguments.delta`, index, id, { delta: text })
    tellOf(`${kind}_arguments.done`, index, id, { arguments: text })
  }
  const callOut = ({ arguments: given, id: callId, name }: Call) => {
    const { id, index } = begin("fc")
    const item = { type: "function_call", id, callId, name } as const
    tell("output_item.added", {
      index,
      more: { item: { ...toItem({ ...item, arguments: {}, status: "in_progress" }), arguments: "" } }
    })
    tellOf("function_call_arguments.delta", index, id, { delta: argumentsText(given) })
    tellOf("function_call_arguments.done", index, id, { arguments: argumentsText(given) })
    tellItem("done", index, { ...item, arguments: given, status: "completed" })
  }
  const showTool = (call: Call): { readonly index: number; readonly item: ToolItem } => {
    if (call.index !== undefined && call.item !== undefined) return { index: call.index, item: call.item }
    const { id, index } = begin("mcp")
    const { approvalId, arguments: given, id: callId, name } = call
    const item: ToolItem = {
      type: "mcp_call",
      id,
      status: "in_progress",
      callId,
      name,
      arguments: given,
      approvalId
    }
    Object.assign(call, { index, item })
    items.set(index, item)
    tell("output_item.added", { index, more: { item: { ...toItem(item), arguments: "" } } })
    tellOf("mcp_call.in_progress", index, id)
    tellArguments("mcp_call", index, id, given)
    return { index, item }
  }
  const answerTool = (call: Call, result: Schema.Json, isError: boolean) => {
    const { index, item } = showTool(call)
    tellOf(isError ? "mcp_call.failed" : "mcp_call.completed", index, item.id)
    tellItem("done", index, { ...item, result, status: isError ? "failed" : "completed" })
    calls.delete(call.id)
  }
  /** What is under way ends with the response; calls that wait are told of again where they go on. */
  const breakOff = (isKept: boolean) => {
    closeText("incomplete")
    for (const { index, item } of calls.values()) {
      if (index === undefined || item === undefined) continue
      tellItem("done", index, { ...item, status: "incomplete" })
      if (!isKept) items.delete(index)
    }
  }
  const ask = (approvalId: string, call: Call | undefined) => {
    closeText()
    breakOff(false)
    const index = nextIndex++
    question = approvalId
    const item: ResponseItem = {
      type: "mcp_approval_request",
      id: approvalId,
      status: "completed",
      callId: call?.id ?? "",
      name: call?.name ?? "",
      arguments: call?.arguments ?? {}
    }
    tellItem("added", index, item)
    tellItem("done", index, item)
    end = { status: "completed" }
    tell("completed")
  }
  const endBy = (code: string, error: string) => {
    if (code === "unavailable" || code === "forbidden") {
      end = { status: "broken", code, error }
      return
    }
    const status = endings[code] ?? "failed"
    breakOff(true)
    end = { status, code, error }
    tell(status === "cancelled" ? "incomplete" : status)
  }

  const take = ({ event, id }: NumberedEvent): void => {
    const { data } = event
    const range = Math.floor(id / stride)
    const isHere = leg === key.leg
    const joined = range === Math.floor(lastId / stride) ? id - lastId - 1 : 0
    lastId = id
    if (isHere) {
      next = Math.max(next, range * numbersOfRange)
      if (!hasBegun) {
        hasBegun = true
        tell("created")
        if (isQueued) tell("queued")
      }
      if (!isInProgress && event.event !== "conversation") {
        isInProgress = true
        tell("in_progress")
      }
    }
    if (event.event === "tool_call" && "arguments" in data) {
      const call: Call = { id: data.id, name: data.name, arguments: data.arguments, approvalId: null }
      if (!callerTools.has(call.name)) calls.set(call.id, call)
      if (!isHere) return
      closeText()
      if (callerTools.has(call.name)) callOut(call)
      else showTool(call)
    } else if (event.event === "tool_result" && "isError" in data) {
      const call = calls.get(data.id)
      if (isHere && call !== undefined) answerTool(call, data.result, data.isError)
      calls.delete(data.id)
    } else if ("status" in data && data.status === "waiting_approval") {
      const call = calls.get(data.toolCallId)
      if (call !== undefined) call.approvalId = data.approvalId
      if (isHere) ask(data.approvalId, call)
      leg++
      askedIn = range
    } else if (event.event === "error" && "code" in data) {
      if (isHere || data.code === "unavailable" || data.code === "forbidden") endBy(data.code, data.error)
    } else if (!isHere) {
      return
    } else if (isThinking(event)) {
      closeText()
      passOver(range)
    } else if ("delta" in data) {
      say(data.delta, joined)
    } else if ("usage" in data) {
      closeText()
      end = { status: "completed" }
      tell("completed")
    }
  }

  return {
    /** The events that this event of the turn makes; none behind the end. */
    take: (event: NumberedEvent): ReadonlyArray<ResponseEvent> => {
      isEmpty = false
      if (end !== undefined) return []
      told = []
      take(event)
      return told
    },
    /** What came of it so far, in order. */
    output: (): ReadonlyArray<Schema.JsonObject> =>
      Array.from(items)
        .sort(([a], [b]) => a - b)
        .map(([, item]) => toItem(item.type === "message" ? { ...item, text: textNow(item) } : item)),
    items: () => items,
    end: () => end,
    hasBegun: () => hasBegun,
    /** Whether nothing at all was told by the turn. */
    isEmpty: () => isEmpty,
    isInProgress: () => isInProgress,
    /** The approval that it ends with waiting for, if it does. */
    question: () => question,
    /** The number that the next event would have. */
    next: () => next
  }

  function textNow({ id, text }: { readonly id: string; readonly text: string }) {
    return open?.id === id ? open.text : text
  }
}

export type ResponseTold = ReturnType<typeof makeResponseTold>

/** How responses end whose turn failed by this code: what there is of an answer that was cut off is worth having. */
const endings: Readonly<Record<string, "incomplete" | "cancelled">> = {
  inference_truncated: "incomplete",
  inference_content_filter: "incomplete",
  cancelled: "cancelled"
}
