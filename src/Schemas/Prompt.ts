import type * as Schema from "effect/Schema"
import type { PromptMessage } from "./Inference.ts"
import type { ToolDefinition } from "./Tool.ts"

/** A quarter of the budget is the most that the tool results of one answer may take of it. */
const shareOfResults = 4

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
 * tool call without its results nor results without their call, beginning with a message of the user. From
 * the last message of the user on everything is shown; where that is too much, the results of its oldest
 * calls are left out in words. The results of one answer are cut to a quarter of the budget together.
 */
export const fitPrompt = (
  messages: ReadonlyArray<PromptMessage>,
  budget: number
): ReadonlyArray<PromptMessage> => {
  const units = unitsOf(messages.map((message) => cutResults(message, budget)))
  const question = Math.max(
    0,
    units.findLastIndex((unit) => unit.messages[0]?.role === "user")
  )
  const turn = units.slice(question)
  let left = budget - turn.reduce((sum, { tokens }) => sum + tokens, 0)
  for (const [index, unit] of turn.entries()) {
    if (left >= 0 || index === turn.length - 1) break
    const shorter = unitOf(unit.messages.map(withoutResults))
    left += unit.tokens - shorter.tokens
    turn[index] = shorter
  }
  let from = question
  for (let index = question - 1; index >= 0; index--) {
    left -= units[index]?.tokens ?? 0
    if (left < 0) break
    from = index
  }
  const before = units.slice(from, question)
  const first = before.findIndex((unit) => unit.messages[0]?.role === "user")
  const shown = first === -1 ? turn : [...before.slice(first), ...turn]
  return shown.flatMap((unit) => unit.messages)
}

const mostTools = 128

/** The tools that a model is shown: 128 at most, and no more than take half of the budget. */
export const fitTools = <T>(
  tools: ReadonlyArray<T>,
  definitionOf: (tool: T) => ToolDefinition,
  budget: number
): ReadonlyArray<T> => {
  let left = budget / 2
  return tools.slice(0, mostTools).filter((tool) => {
    const tokens = tokensOfTool(definitionOf(tool))
    if (tokens > left) return false
    left -= tokens
    return true
  })
}

/** What is left of a budget for messages beside the tools. */
export const promptBudget = (budget: number, tools: ReadonlyArray<ToolDefinition>): number =>
  tools.reduce((left, tool) => left - tokensOfTool(tool), budget)

/** Of definitions, which are the same for many questions and may be long. */
const toolTokens = new WeakMap<ToolDefinition, number>()

const tokensOfTool = (tool: ToolDefinition): number => {
  const known = toolTokens.get(tool)
  if (known !== undefined) return known
  const tokens = estimateTokens(JSON.stringify(tool))
  toolTokens.set(tool, tokens)
  return tokens
}

/** What is said to a model before the conversation, one thing behind the other. */
export const joinSystem = (...parts: ReadonlyArray<string | null>): string | null => {
  const said = parts.filter((part) => part !== null)
  return said.length === 0 ? null : said.join("\n\n")
}

interface Unit {
  readonly messages: ReadonlyArray<PromptMessage>
  readonly tokens: number
}

/** A call and its results belong together; every other message stands alone. */
const unitsOf = (messages: ReadonlyArray<PromptMessage>): ReadonlyArray<Unit> => {
  const units: Array<Unit> = []
  for (const message of messages) {
    const before = units.at(-1)
    if (message.role === "tool" && before !== undefined) {
      units[units.length - 1] = unitOf([...before.messages, message])
    } else units.push(unitOf([message]))
  }
  return units
}

const unitOf = (messages: ReadonlyArray<PromptMessage>): Unit => ({
  messages,
  tokens: messages.reduce(
    (sum, message) =>
      sum + estimateTokens(message.role === "user" ? message.content : JSON.stringify(message)),
    0
  )
})

const textOf = (result: Schema.Json): string => (typeof result === "string" ? result : JSON.stringify(result))

/** A message whose tool results together are cut to what a prompt of `budget` tokens shows of them. */
export const cutResults = (message: PromptMessage, budget: number): PromptMessage => {
  if (message.role !== "tool") return message
  const most = budget / shareOfResults / message.results.length
  return {
    ...message,
    results: message.results.map((result) => {
      const text = textOf(result.result)
      const tokens = text.length <= most ? 0 : estimateTokens(text)
      return tokens <= most
        ? result
        : { ...result, result: cutText(text, Math.floor((most * text.length) / tokens)) }
    })
  }
}

const withoutResults = (message: PromptMessage): PromptMessage =>
  message.role !== "tool"
    ? message
    : {
        ...message,
        results: message.results.map((result) => ({
          ...result,
          result: `(left out: ${textOf(result.result).length} characters)`
        }))
      }

const longestResult = 262_144

/** A tool result of a size that can be kept: 262,144 characters as JSON. */
export const cutResult = (result: Schema.Json): Schema.Json => {
  const text = textOf(result)
  return text.length <= longestResult ? result : cutText(text, longestResult)
}

const cutText = (text: string, length: number): string =>
  `${text.slice(0, length).toWellFormed()}… (cut: ${text.length} characters in all)`
