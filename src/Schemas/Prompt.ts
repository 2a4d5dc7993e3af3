import type { PromptMessage } from "./Inference.ts"
import type { ToolResult } from "./Tool.ts"

/** A quarter of the budget is the most that one tool result may take of it. */
const shareOfResult = 4

/**
 * How many tokens a text is, estimated without the model's own tokenizer: four ASCII characters are one,
 * any other UTF-16 unit is one of its own.
 */
export const estimateTokens = (text: string): number => {
  let others = 0
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 127) others++
  return Math.ceil((text.length - others) / 4) + others
}

/**
 * What a model is shown of a conversation: as many of the newest messages as fit `budget` tokens, never a
 * tool call without its results nor results without their call, beginning with a message of the user. The
 * last message of the user, and what came last, are always shown; a tool result is cut to a quarter of
 * the budget.
 */
export const fitPrompt = (
  messages: ReadonlyArray<PromptMessage>,
  budget: number
): ReadonlyArray<PromptMessage> => {
  const units = unitsOf(messages.map((message) => cutResults(message, budget)))
  const question = units.findLastIndex((unit) => unit.messages[0]?.role === "user")
  const last = units.length - 1
  let left = budget
  const shown = new Set<number>()
  for (const index of new Set([last, question])) {
    const unit = units[index]
    if (unit === undefined) continue
    shown.add(index)
    left -= unit.tokens
  }
  for (let index = last; index >= 0; index--) {
    const unit = units[index]
    if (unit === undefined || shown.has(index)) continue
    left -= unit.tokens
    if (left < 0) break
    shown.add(index)
  }
  const kept = units.filter((_, index) => shown.has(index))
  const first = kept.findIndex((unit) => unit.messages[0]?.role === "user")
  return kept.slice(Math.max(0, first)).flatMap((unit) => unit.messages)
}

interface Unit {
  readonly messages: ReadonlyArray<PromptMessage>
  readonly tokens: number
}

/** A call and its results belong together; every other message stands alone. */
const unitsOf = (messages: ReadonlyArray<PromptMessage>): ReadonlyArray<Unit> => {
  const units: Array<Unit> = []
  for (const message of messages) {
    const tokens = estimateTokens(message.role === "user" ? message.content : JSON.stringify(message))
    const before = units.at(-1)
    if (message.role === "tool" && before !== undefined) {
      units[units.length - 1] = {
        messages: [...before.messages, message],
        tokens: before.tokens + tokens
      }
    } else units.push({ messages: [message], tokens })
  }
  return units
}

/** A message whose tool results are cut to what a prompt of `budget` tokens shows of them. */
export const cutResults = (message: PromptMessage, budget: number): PromptMessage =>
  message.role === "tool"
    ? { ...message, results: message.results.map((result) => cutResult(result, budget / shareOfResult)) }
    : message

const cutResult = (result: ToolResult, most: number): ToolResult => {
  const text = typeof result.result === "string" ? result.result : JSON.stringify(result.result)
  if (text.length <= most || estimateTokens(text) <= most) return result
  const shown = text.slice(0, Math.floor((most * text.length) / estimateTokens(text))).toWellFormed()
  return { ...result, result: `${shown}… (cut: ${text.length} characters in all)` }
}
