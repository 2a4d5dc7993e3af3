import type { PromptMessage } from "./Inference.ts"
import type { ToolCall, ToolResult } from "./Tool.ts"

const notAnswered = "This call has no result: whoever was to make it has sent none."

const resultOf = ({ id, name }: ToolCall, given: ToolResult | undefined): ToolResult =>
  given === undefined ? { id, name, result: notAnswered, isError: true, durationMs: 0 } : { ...given, name }

/**
 * The same conversation with the results of each answer's calls in one message right behind it, in the order of its
 * calls, as providers want it: those that came later, but before the next answer, move there and take the name of
 * their call; a call without a result has an error in words. Results of no call are left out: what they answer is too
 * long ago to be shown. Doing it twice changes nothing.
 */
export const closeCalls = (messages: ReadonlyArray<PromptMessage>): ReadonlyArray<PromptMessage> => {
  const closed: Array<PromptMessage> = []
  let calls: ReadonlyArray<ToolCall> = []
  let place = 0
  const given = new Map<string, ToolResult>()
  const close = () => {
    if (calls.length === 0) return
    closed[place] = { role: "tool", results: calls.map((call) => resultOf(call, given.get(call.id))) }
    calls = []
    given.clear()
  }
  for (const message of messages) {
    if (message.role === "tool") {
      for (const result of message.results) given.set(result.id, result)
      continue
    }
    if (message.role === "assistant") close()
    closed.push(message)
    if (message.role === "assistant" && message.toolCalls.length > 0) {
      calls = message.toolCalls
      place = closed.push({ role: "tool", results: [] }) - 1
    }
  }
  close()
  return closed
}
