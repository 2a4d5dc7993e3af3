import type { LanguageModelV4StreamPart, SharedV4ProviderMetadata } from "@ai-sdk/provider"
import type * as Schema from "effect/Schema"
import type { InferenceEvent } from "../../Schemas/Inference.ts"
import type { Thinker } from "../../Schemas/Reasoning.ts"
import { tokenCount } from "../../Schemas/Usage.ts"
import { reasoningOf } from "./Compatible.ts"
import { type Failure, finally_ } from "./Failures.ts"

/** What the parts of one answer are read with. */
export interface Reading {
  readonly thinker: Thinker
  /** The name of the tool that was shown under this one. */
  readonly tool: (name: string) => string
  readonly failed: (raw: unknown) => Failure
  /** Whether the answer has begun, as its reader sees it. */
  readonly hasBegun: () => boolean
}

type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>

type Events = ReadonlyArray<InferenceEvent>

const none: Events = []

/** Whether a part of the stream brings something of the answer, and does not only keep the line open. */
export const brings = (part: LanguageModelV4StreamPart): boolean => {
  switch (part.type) {
    case "text-delta":
    case "reasoning-delta":
    case "tool-input-delta":
      return part.delta !== "" || part.providerMetadata !== undefined
    case "tool-call":
    case "finish":
    case "error":
      return true
    default:
      return false
  }
}

/** Reads the parts of one answer, in order: each is events, or a failure. */
export const makeReading = ({ failed, hasBegun, thinker, tool }: Reading) => {
  const open = { text: new Map<string, number>(), reasoning: new Map<string, number>() }
  let count = 0

  const begin = (type: "text" | "reasoning", id: string): number => {
    open[type].set(id, ++count)
    return count
  }
  const piece = (type: "text" | "reasoning", id: string, delta: string, metadata: Metadata) => {
    const part = open[type].get(id) ?? begin(type, id)
    if (metadata === undefined) return delta === "" ? none : [{ type, part, delta } as InferenceEvent]
    return [{ type, part, delta, metadata: plain(metadata) } as InferenceEvent]
  }
  const finish = (part: Finish): Events | Failure => {
    const { inputTokens, outputTokens } = part.usage
    const input = tokenCount(inputTokens.total)
    // Whatever a provider sends, the packages count what was read from a cache among all that was read.
    const cached = Math.min(input, tokenCount(inputTokens.cacheRead))
    const ending: InferenceEvent = {
      type: "finish",
      usage: {
        inputTokens: input,
        ...(cached > 0 && { cachedInputTokens: cached }),
        outputTokens: tokenCount(outputTokens.total)
      },
      thinker
    }
    switch (part.finishReason.unified) {
      case "content-filter":
        return finally_("content_filter", "the content filter of the model provider stopped the answer")
      case "length":
        return [{ ...ending, truncated: "the model stopped at its limit of output tokens" }]
      case "interrupted":
        return hasBegun() ? cutOff : noAnswer
      case "error":
        return finally_("unknown", "the model provider broke the answer off")
      default: {
        const said = reasoningOf(part.providerMetadata)
        return said === undefined
          ? [ending]
          : [{ type: "reasoning", part: ++count, delta: "", metadata: said }, ending]
      }
    }
  }

  return (part: LanguageModelV4StreamPart): Events | Failure => {
    switch (part.type) {
      case "text-start":
      case "reasoning-start": {
        const type = part.type === "text-start" ? "text" : "reasoning"
        begin(type, part.id)
        return piece(type, part.id, "", part.providerMetadata)
      }
      case "text-delta":
        return piece("text", part.id, part.delta, part.providerMetadata)
      case "text-end":
        return piece("text", part.id, "", part.providerMetadata)
      case "reasoning-delta":
        return piece("reasoning", part.id, part.delta, part.providerMetadata)
      case "reasoning-end":
        return piece("reasoning", part.id, "", part.providerMetadata)
      case "tool-call":
        return [
          {
            type: "tool_call",
            call: {
              id: part.toolCallId,
              name: tool(part.toolName),
              arguments: parse(part.input),
              ...(part.providerMetadata !== undefined && { providerMetadata: plain(part.providerMetadata) })
            }
          }
        ]
      case "error":
        return failed(part.error)
      case "finish":
        return finish(part)
      default:
        return none
    }
  }
}

type Metadata = SharedV4ProviderMetadata | undefined

/** Without what is not JSON: the packages leave fields undefined. */
const plain = (metadata: SharedV4ProviderMetadata) =>
  JSON.parse(JSON.stringify(metadata)) as Schema.JsonObject

export const cutOff = finally_("truncated", "the answer of the model was cut off")
export const noAnswer = finally_("unknown", "the model provider answered with something that can't be read")

/** Arguments that are no JSON are kept as the text that they are: the tool refuses them in words. */
const parse = (input: string): Schema.Json => {
  try {
    return JSON.parse(input === "" ? "{}" : input) as Schema.Json
  } catch {
    return input
  }
}
