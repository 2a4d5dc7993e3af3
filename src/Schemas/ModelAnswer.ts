import type { InferenceEvent, PromptMessage } from "./Inference.ts"
import { storableJson, storableText } from "./Json.ts"
import type { ToolCall } from "./Tool.ts"
import type { Usage } from "./Usage.ts"

const highSurrogateAtEnd = /[\uD800-\uDBFF]$/u

/**
 * Collects one answer of a model. What it takes in can be stored: texts without NUL and lone surrogates (a
 * pair that is split between two deltas is kept whole), call ids that are unique in the conversation.
 */
export const makeAnswer = (before: ReadonlyArray<PromptMessage>) => {
  const seen = new Set(
    before.flatMap((message) => (message.role === "assistant" ? message.toolCalls.map(({ id }) => id) : []))
  )
  const toolCalls: Array<ToolCall> = []
  let text = ""
  let carried = ""
  let usage: Usage | undefined

  const uniqueId = (id: string): string => {
    let unique = id === "" ? "call" : id
    for (let count = 2; seen.has(unique); count++) unique = `${id === "" ? "call" : id}_${count}`
    seen.add(unique)
    return unique
  }
  const add = (delta: string): string => {
    const storable = storableText(delta)
    text += storable
    return storable
  }

  return {
    /** What there is to tell of the event: its text, or nothing. */
    take: (event: InferenceEvent): string => {
      switch (event.type) {
        case "text": {
          const whole = carried + event.delta
          carried = highSurrogateAtEnd.test(whole) ? whole.slice(-1) : ""
          return add(whole.slice(0, whole.length - carried.length))
        }
        case "tool_call":
          toolCalls.push({
            ...event.call,
            id: uniqueId(storableText(event.call.id)),
            name: storableText(event.call.name),
            arguments: storableJson(event.call.arguments)
          })
          return ""
        case "finish":
          usage = event.usage
          return ""
      }
    },
    /** What was held back at the end. */
    rest: (): string => {
      const rest = carried
      carried = ""
      return rest === "" ? "" : add(rest)
    },
    length: () => text.length,
    result: () => ({ text, toolCalls, usage })
  }
}
