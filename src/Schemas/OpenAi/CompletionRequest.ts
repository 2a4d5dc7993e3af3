import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { cut } from "../Text.ts"
import type { TurnInput } from "../TurnInput.ts"
import * as Fields from "./Fields.ts"
import { formatOf } from "./Format.ts"
import { conversationOf } from "./Messages.ts"
import { samplingOf } from "./Sampling.ts"
import { toolsOf } from "./Tools.ts"

/** A chat completion that is asked for. */
export interface CompletionRequest {
  readonly model: string
  readonly isStream: boolean
  readonly includesUsage: boolean
  readonly given: TurnInput
  /** What people are shown of it: what the user said last, of no more than a message may have. */
  readonly content: string
}

const longestContent = 100_000
const longestModel = 400

/** What a request to `/v1/chat/completions` asks for. What is not supported is refused by its name. */
export const completionOf = (given: Schema.JsonObject): Fields.Read<CompletionRequest> =>
  Result.gen(function* () {
    yield* Fields.onlyKnown(known, given)
    yield* onlySupported(given)
    const field = (name: string) => Fields.fieldOf(given, name)
    const { includesUsage, isStream, model } = yield* headOf(given)
    const { content, instructions, messages } = yield* conversationOf(field("messages"))
    const { toolChoice, tools } = yield* toolsOf(given, true)
    const format = yield* formatOf(field("response_format"), true)
    const sampling = yield* samplingOf(given)
    return {
      model,
      isStream,
      includesUsage,
      given: { instructions, messages, tools, toolChoice, format, sampling },
      content: cut(content, longestContent)
    }
  })

/** Which model is asked, and how it is told: what an answer needs of a request that was read before. */
export const headOf = (given: Schema.JsonObject) =>
  Result.gen(function* () {
    const field = (name: string) => Fields.fieldOf(given, name)
    const model = yield* Fields.requiredText(1, longestModel)(field("model"))
    const isStream = (yield* Fields.boolean(field("stream"))) ?? false
    const options = yield* Fields.object(field("stream_options"))
    if (options === undefined) return { model, isStream, includesUsage: false }
    if (!isStream) return yield* Fields.refuse("stream_options", "is for streams alone")
    yield* Fields.onlyKnown(streamOptions, options, "stream_options")
    const obfuscation = Fields.fieldOf(options, "include_obfuscation", "stream_options")
    if (yield* Fields.boolean(obfuscation)) return yield* Fields.refuseUnsupported(obfuscation.name)
    const usage = Fields.fieldOf(options, "include_usage", "stream_options")
    return { model, isStream, includesUsage: (yield* Fields.boolean(usage)) ?? false }
  })

const streamOptions = new Set(["include_usage", "include_obfuscation"])

const never = () => false
const isFalse = (value: Schema.Json) => value === false
const isNone = (value: Schema.Json) => Fields.isObject(value) && Object.keys(value).length === 0

/** What of OpenAI's parameters nothing here does, and what they may say all the same. */
const unsupported: Readonly<Record<string, (value: Schema.Json) => boolean>> = {
  audio: never,
  function_call: never,
  functions: never,
  logit_bias: isNone,
  logprobs: isFalse,
  modalities: (value) => Array.isArray(value) && value.every((item) => item === "text"),
  moderation: never,
  n: (value) => value === 1,
  prediction: never,
  reasoning_effort: never,
  service_tier: (value) => value === "auto" || value === "default",
  store: isFalse,
  top_logprobs: (value) => value === 0,
  verbosity: never,
  web_search_options: never
}

const onlySupported = Fields.without(unsupported)

/** Those that change nothing of an answer are taken as they are: labels of the caller's own, and hints to caches. */
const known: ReadonlySet<string> = new Set([
  ...Object.keys(unsupported),
  "frequency_penalty",
  "max_completion_tokens",
  "max_tokens",
  "messages",
  "metadata",
  "model",
  "parallel_tool_calls",
  "presence_penalty",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "response_format",
  "safety_identifier",
  "seed",
  "stop",
  "stream",
  "stream_options",
  "temperature",
  "tool_choice",
  "tools",
  "top_p",
  "user"
])
