import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { ToolChoice } from "../Inference.ts"
import { estimateTokens } from "../Prompt.ts"
import type { ToolDefinition } from "../Tool.ts"
import * as Fields from "./Fields.ts"

export const mostTools = 128
const longestDescription = 10_000
/** Of all definitions together: they are sent with each question. */
const mostTokens = 100_000

/** What the endpoints describe alike of a function: chat completions under `function`, responses in the tool itself. */
const functionOf = (given: Schema.JsonObject, name: string): Fields.Read<ToolDefinition> =>
  Result.gen(function* () {
    yield* Fields.boolean(Fields.fieldOf(given, "strict", name))
    return {
      name: yield* toolName(Fields.fieldOf(given, "name", name)),
      description:
        (yield* Fields.text(0, longestDescription)(Fields.fieldOf(given, "description", name))) ?? "",
      parameters: (yield* Fields.keptObject(Fields.fieldOf(given, "parameters", name))) ?? noParameters,
      readOnly: false
    }
  })

const noParameters = { type: "object", properties: {} }

const toolName = (field: Fields.Field): Fields.Read<string> =>
  Result.flatMap(Fields.requiredText(1, 64)(field), (name) =>
    /^[\w-]+$/.test(name)
      ? Result.succeed(name)
      : Fields.refuse(field.name, "must be of letters, digits, _ and - alone")
  )

/** A tool of the caller; of the kinds that there are, functions alone: the others are OpenAI's own. */
const toolOf =
  (isNested: boolean) =>
  (field: Fields.Field): Fields.Read<ToolDefinition> =>
    Result.gen(function* () {
      const tool = yield* Fields.item(field)
      const type = Fields.fieldOf(tool, "type", field.name)
      if (type.value !== "function") {
        return yield* type.value === undefined
          ? Fields.refuse(type.name, "is required")
          : Fields.refuseUnsupported(type.name, "tools are functions")
      }
      if (!isNested) return yield* functionOf(tool, field.name)
      const given = Fields.fieldOf(tool, "function", field.name)
      return yield* functionOf(yield* Fields.requiredObject(given), given.name)
    })

/** The tools of the caller, and which of them an answer is to call; `isNested` as chat completions write functions. */
export const toolsOf = (given: Schema.JsonObject, isNested: boolean) =>
  Result.gen(function* () {
    const field = Fields.fieldOf(given, "tools")
    const tools = Fields.isGiven(field) ? yield* Fields.list(0, mostTools, toolOf(isNested))(field) : []
    const names = new Set<string>()
    for (const [index, { name }] of tools.entries()) {
      if (names.has(name)) {
        const within = isNested ? "function.name" : "name"
        return yield* Fields.refuse(
          `tools[${index}].${within}`,
          "must be another than that of the tools before it"
        )
      }
      names.add(name)
    }
    if (tools.length > 0 && estimateTokens(JSON.stringify(tools)) > mostTokens) {
      return yield* Fields.refuse("tools", `must have at most ${mostTokens} tokens together`)
    }
    const parallel = Fields.fieldOf(given, "parallel_tool_calls")
    if ((yield* Fields.boolean(parallel)) === false && tools.length > 0) {
      return yield* Fields.refuseUnsupported(parallel.name, "an answer may call several tools at once")
    }
    return { tools, toolChoice: yield* choiceOf(given, names, isNested) }
  })

const choices = new Set<unknown>(["auto", "none", "required"])

const choiceOf = (
  given: Schema.JsonObject,
  names: ReadonlySet<string>,
  isNested: boolean
): Fields.Read<ToolChoice> =>
  Result.gen(function* () {
    const field = Fields.fieldOf(given, "tool_choice")
    if (!Fields.isGiven(field)) return "auto"
    if (choices.has(field.value)) return field.value as ToolChoice
    if (!Fields.isObject(field.value)) {
      return yield* Fields.refuse(field.name, 'must be "auto", "none", "required" or a function')
    }
    const type = Fields.fieldOf(field.value, "type", field.name)
    if (type.value !== "function") return yield* Fields.refuseUnsupported(type.name, "it may be a function")
    const within = Fields.fieldOf(field.value, "function", field.name)
    const named = isNested
      ? Fields.fieldOf(yield* Fields.requiredObject(within), "name", within.name)
      : Fields.fieldOf(field.value, "name", field.name)
    const name = yield* toolName(named)
    return names.has(name) ? { name } : yield* Fields.refuse(named.name, "must be that of one of tools")
  })
