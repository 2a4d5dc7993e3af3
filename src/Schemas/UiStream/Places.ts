import * as Result from "effect/Result"
import type { StoredMessage } from "../Conversation.ts"
import { InvalidInput } from "../Errors.ts"
import type { MessageId } from "../Ids.ts"
import type { ToolResult } from "../Tool.ts"
import { toUiMessages } from "./Messages.ts"
import type { UiRequest } from "./Request.ts"

/** What is stored of a chat, and whether there is more before it. */
export interface Stored {
  readonly messages: ReadonlyArray<StoredMessage>
  readonly isCut: boolean
}

/**
 * Which stored message the last one that was sent comes in the place of: one that is changed, or answered again. Clients
 * have names of their own for what users say, and ours for replies: so it is found by its name, by that of its reply, or
 * by its place behind the last reply that both know. Undefined: it was never stored.
 */
export const placeOf = (
  { isRegenerating, isWhole, last, messageId, sent }: UiRequest,
  { isCut, messages }: Stored
): Result.Result<MessageId | undefined, InvalidInput> => {
  const stored = toUiMessages(messages)
  const indexOf = (id: string | null | undefined, role: "user" | "assistant") =>
    stored.findIndex((message) => message.id === id && message.role === role)
  const found = (index: number): Result.Result<MessageId | undefined, InvalidInput> => {
    const message = stored[index]
    if (message === undefined) return Result.succeed(undefined)
    const isSame = last.role === "user" && message.parts[0]?.text === last.content
    return isRegenerating && !isSame ? other : Result.succeed(message.id as MessageId)
  }

  const named = Math.max(indexOf(messageId, "user"), indexOf(sent.at(-1)?.id, "user"))
  if (named >= 0) return found(named)
  const reply = indexOf(messageId, "assistant")
  if (reply > 0) return found(stored.findLastIndex(({ role }, index) => role === "user" && index < reply))

  // Of one message alone its place is not known, but that it is the last one.
  if (!isWhole) return isRegenerating ? found(stored.findLastIndex(({ role }) => role === "user")) : other

  const known = sent.findLastIndex(({ id, role }) => role === "assistant" && indexOf(id, "assistant") >= 0)
  if (known < 0 && isCut) return other
  const from = known < 0 ? -1 : indexOf(sent[known]?.id, "assistant")
  let left = sent.slice(known + 1).filter(({ role }) => role === "user").length
  return found(stored.findIndex(({ role }, index) => index > from && role === "user" && --left === 0))
}

const other = Result.fail(
  new InvalidInput({
    error: "messages: are not those that are stored of this chat, so that none of them can be answered again"
  })
)

/** The client's results of calls that the last reply has left to it. */
export const newResults = (
  results: ReadonlyArray<ToolResult>,
  messages: ReadonlyArray<StoredMessage>
): ReadonlyArray<ToolResult> => {
  const reply = messages.at(-1)
  if (reply?.role !== "ASSISTANT") return []
  const parts = reply.parts ?? []
  const done = new Set(
    parts.flatMap((part) => (part.role === "tool" ? part.results.map(({ id }) => id) : []))
  )
  const open = new Map(
    parts
      .flatMap((part) => (part.role === "assistant" ? part.toolCalls : []))
      .flatMap(({ id, name }) => (done.has(id) ? [] : [[id, name] as const]))
  )
  return results.flatMap((result) => {
    const name = open.get(result.id)
    return name === undefined ? [] : [{ ...result, name }]
  })
}
