import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { storableJson } from "../Json.ts"
import * as Fields from "./Fields.ts"

/** The arguments of a call, which the protocol has as JSON in a text; nothing is an empty object. A model made them: what can't be kept of them is replaced. */
export const argumentsOf = (field: Fields.Field): Fields.Read<Schema.Json> =>
  Result.flatMap(Fields.requiredAnyText(field), (text) => {
    if (text.trim() === "") return Result.succeed({})
    try {
      return Result.succeed(storableJson(JSON.parse(text) as Schema.Json))
    } catch {
      return Fields.refuse(field.name, "must be JSON in a string")
    }
  })

export const argumentsText = (value: Schema.Json): string => JSON.stringify(value)

/** The id of a call, as whoever made it wrote it. */
export const callId = Fields.requiredText(1, 200)

/** The name of a function that was called, which may be one of the agent's own tools. */
export const calledName = Fields.requiredText(1, 200)
