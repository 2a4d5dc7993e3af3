import type * as Schema from "effect/Schema"
import type { InferenceEvent, PromptMessage } from "./Inference.ts"
import { storableJson, storableText } from "./Json.ts"
import { makeParts, type Reasoning, type Thinker } from "./Reasoning.ts"
import type { ToolCall } from "./Tool.ts"
import type { CountedUsage } from "./Usage.ts"

const highSurrogateAtEnd = /[\uD800-\uDBFF]$/u

/**
 * Collects one answer of a model. What it takes in can be stored: texts without NUL and lone surrogates (a
 * pair that is split between two deltas is kept whole), call ids that are unique in the conversation.
 */
export const makeAnswer = (before: ReadonlyArray<PromptMessage>) => {
  const seen = new Map<string, number>()
  for (const message of before) {
    if (message.role === "assistant") for (const { id } of message.toolCalls) seen.set(id, 1)
  }
  const toolCalls: Array<ToolCall> = []
  let text = ""
  let callLength = 0
  let carried = ""
  let usage: CountedUsage | undefined
  let truncated: string | undefined
  let thinker: Thinker | undefined
  const parts = makeParts()

  const uniqueId = (given: string): string => {
    const id = given === "" ? "call" : given
    let unique = id
    while (seen.has(unique)) {
      const count = (seen.get(id) ?? 0) + 1
      seen.set(id, count)
      unique = `${id}_${count}`
    }
    seen.set(unique, 1)
    return unique
  }
  const add = (delta: string): string => {
    const storable = storableText(delta)
    text += storable
    return storable
  }

  /** Behind an answer without calls nothing is asked in this turn. */
  const reasoning = (): Reasoning | undefined => {
    if (thinker === undefined || (toolCalls.length === 0 && !thinker.isLasting)) return undefined
    const ordered = parts.result()
    return ordered === undefined ? undefined : { ...thinker, parts: ordered }
  }

  return {
    /** What there is to tell of the event: its text, or nothing. */
    take: (event: InferenceEvent): string => {
      switch (event.type) {
        case "reasoning":
          parts.add("reasoning", event)
          return ""
        case "text": {
          parts.add("text", event)
          const whole = carried + event.delta
          carried = highSurrogateAtEnd.test(whole) ? whole.slice(-1) : ""
          return add(whole.slice(0, whole.length - carried.length))
        }
        case "tool_call": {
          const { providerMetadata } = event.call
          const call: ToolCall = {
            id: uniqueId(storableText(event.call.id)),
            name: storableText(event.call.name),
            arguments: storableJson(event.call.arguments),
            ...(providerMetadata !== undefined && {
              providerMetadata: storableJson(providerMetadata) as Schema.JsonObject
            })
          }
          toolCalls.push(call)
          parts.called()
          callLength += JSON.stringify(call).length
          return ""
        }
        case "finish":
          usage = event.usage
          truncated = event.truncated
          thinker = event.thinker
          return ""
      }
    },
    /** What was held back at the end. */
    rest: (): string => {
      const rest = carried
      carried = ""
      return rest === "" ? "" : add(rest)
    },
    /** Of its text, its calls and what it thought together, in UTF-16 code units. */
    length: () => text.length + callLength + parts.length(),
    calls: () => toolCalls.length,
    result: () => ({ text, toolCalls, usage, truncated, reasoning: reasoning() })
  }
}
