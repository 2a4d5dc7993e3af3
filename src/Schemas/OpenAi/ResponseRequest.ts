import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { TurnInput } from "../TurnInput.ts"
import * as Fields from "./Fields.ts"
import { formatOf } from "./Format.ts"
import { type ResponseKey, responseKeyOf } from "./ResponseId.ts"
import { type InputItem, inputOf } from "./ResponseInput.ts"
import { samplingOf } from "./Sampling.ts"
import { toolsOf } from "./Tools.ts"

/** A response that is asked for. */
export interface ResponseRequest extends ResponseHead {
  readonly model: string | undefined
  readonly previous: ResponseKey | undefined
  readonly conversationId: string | undefined
  readonly instructions: string | null
  readonly items: ReadonlyArray<InputItem>
  readonly given: Omit<TurnInput, "instructions" | "messages" | "echo">
  /** What the response repeats of the request, and so is kept with it. */
  readonly echo: Schema.JsonObject
}

/** How a response is told. */
export interface ResponseHead {
  readonly isStream: boolean
  readonly isBackground: boolean
  readonly isStored: boolean
}

const longestId = 200
const longestModel = 400
const longestInstructions = 1024 * 1024

/** What a request to `/v1/responses` asks for. What is not supported is refused by its name. */
export const responseOf = (given: Schema.JsonObject): Fields.Read<ResponseRequest> =>
  Result.gen(function* () {
    yield* Fields.onlyKnown(known, given)
    yield* onlySupported(given)
    const field = (name: string) => Fields.fieldOf(given, name)
    const head = yield* headOf(given)
    const model = yield* Fields.text(1, longestModel)(field("model"))
    const previous = yield* previousOf(field("previous_response_id"))
    const conversationId = yield* conversationOf(field("conversation"))
    if (previous !== undefined && conversationId !== undefined) {
      return yield* Fields.refuse("conversation", "can't be used together with previous_response_id")
    }
    if (model === undefined && previous === undefined && conversationId === undefined) {
      return yield* Fields.refuse("model", "is required")
    }
    const instructions = (yield* Fields.text(0, longestInstructions)(field("instructions"))) ?? null
    const items = yield* inputOf(field("input"))
    const { toolChoice, tools } = yield* toolsOf(given, false)
    const metadata = yield* metadataOf(field("metadata"))
    const format = yield* textFormatOf(field("text"))
    const sampling = yield* samplingOf(given)
    return {
      ...head,
      model,
      previous,
      conversationId,
      instructions,
      items,
      given: { tools, toolChoice, format, sampling },
      echo: {
        ...(model !== undefined && { model }),
        ...(previous !== undefined && { previous_response_id: given.previous_response_id ?? null }),
        instructions,
        metadata,
        background: head.isBackground,
        store: head.isStored
      }
    }
  })

/** How it is told: what an answer needs of a request that was read before. */
export const headOf = (given: Schema.JsonObject): Fields.Read<ResponseHead> =>
  Result.gen(function* () {
    const field = (name: string) => Fields.fieldOf(given, name)
    const isStream = (yield* Fields.boolean(field("stream"))) ?? false
    const options = yield* Fields.object(field("stream_options"))
    if (options !== undefined) {
      if (!isStream) return yield* Fields.refuse("stream_options", "is for streams alone")
      const obfuscation = Fields.fieldOf(options, "include_obfuscation", "stream_options")
      if (yield* Fields.boolean(obfuscation)) return yield* Fields.refuseUnsupported(obfuscation.name)
    }
    return {
      isStream,
      isBackground: (yield* Fields.boolean(field("background"))) ?? false,
      isStored: (yield* Fields.boolean(field("store"))) ?? true
    }
  })

/**
 * Which response answers a request that has begun a turn, or has decided about a call of one: then it is the leg behind the
 * one that asked.
 */
export const legOf = (given: Schema.JsonObject): number => {
  const { input, previous_response_id: previous } = given
  const isDecision =
    Array.isArray(input) &&
    input.some((item) => Fields.isObject(item) && item.type === "mcp_approval_response")
  const key = typeof previous === "string" && isDecision ? responseKeyOf(previous) : undefined
  return key === undefined ? 1 : key.leg + 1
}

const previousOf = (field: Fields.Field): Fields.Read<ResponseKey | undefined> =>
  Result.flatMap(Fields.text(1, longestId)(field), (id) => {
    if (id === undefined) return Result.succeed(undefined)
    const key = responseKeyOf(id)
    return key === undefined ? Fields.refuse(field.name, noSuchResponse) : Result.succeed(key)
  })

/** For one that is not there, or not the caller's to see. */
export const noSuchResponse = "there is no such response"

const conversationOf = (field: Fields.Field): Fields.Read<string | undefined> =>
  Fields.isObject(field.value)
    ? Fields.requiredText(1, longestId)(Fields.fieldOf(field.value, "id", field.name))
    : Fields.text(1, longestId)(field)

const mostPairs = 16

const metadataOf = (field: Fields.Field): Fields.Read<Schema.JsonObject> =>
  Result.gen(function* () {
    const given = (yield* Fields.keptObject(field)) ?? {}
    const keys = Object.keys(given)
    if (keys.length > mostPairs) return yield* Fields.refuse(field.name, `must be at most ${mostPairs} pairs`)
    for (const key of keys) {
      if (key.length > 64) return yield* Fields.refuse(field.name, "must have keys of at most 64 characters")
      yield* Fields.text(0, 512)({ name: field.name, value: given[key] })
    }
    return given
  })

const textFormatOf = (field: Fields.Field) =>
  Result.gen(function* () {
    const given = (yield* Fields.object(field)) ?? {}
    const verbosity = Fields.fieldOf(given, "verbosity", field.name)
    if (Fields.isGiven(verbosity) && verbosity.value !== "medium") {
      return yield* Fields.refuseUnsupported(verbosity.name)
    }
    return yield* formatOf(Fields.fieldOf(given, "format", field.name), false)
  })

const never = () => false
const isAuto = (value: Schema.Json) => value === "auto"

/** Of what `include` may name these are parts of items that no response here has. */
const includable: ReadonlySet<Schema.Json> = new Set([
  "code_interpreter_call.outputs",
  "computer_call_output.output.image_url",
  "file_search_call.results",
  "message.input_image.image_url",
  "reasoning.encrypted_content",
  "web_search_call.action.sources",
  "web_search_call.results"
])

/** What of OpenAI's parameters nothing here does, and what they may say all the same. */
const unsupported: Readonly<Record<string, (value: Schema.Json) => boolean>> = {
  access_programs: never,
  context_management: never,
  image: never,
  include: (value) => Array.isArray(value) && value.every((name) => includable.has(name)),
  max_tool_calls: never,
  moderation: never,
  prompt: never,
  reasoning: (value) => Fields.isObject(value) && Object.values(value).every((given) => given === null),
  service_tier: (value) => value === "auto" || value === "default",
  top_logprobs: (value) => value === 0,
  // What a model is shown is cut to what it may be.
  truncation: isAuto
}

const onlySupported = Fields.without(unsupported)

/** Those that change nothing of an answer are taken as they are: labels of the caller's own, and hints to caches. */
const known: ReadonlySet<string> = new Set([
  ...Object.keys(unsupported),
  "background",
  "conversation",
  "input",
  "instructions",
  "max_output_tokens",
  "metadata",
  "model",
  "parallel_tool_calls",
  "previous_response_id",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "safety_identifier",
  "store",
  "stream",
  "stream_options",
  "temperature",
  "text",
  "tool_choice",
  "tools",
  "top_p",
  "user"
])
