import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { AnswerFormat } from "../Inference.ts"
import * as Fields from "./Fields.ts"

/**
 * What the answer has to be, as `response_format` of chat completions says it (its schema under `json_schema`), or
 * `text.format` of responses; null: text.
 */
export const formatOf = (field: Fields.Field, isNested: boolean): Fields.Read<AnswerFormat | null> =>
  Result.gen(function* () {
    const given = yield* Fields.object(field)
    if (given === undefined) return null
    const type = Fields.fieldOf(given, "type", field.name)
    switch (type.value) {
      case "text":
        return null
      case "json_object":
        return { name: "json_object", schema: null }
      case "json_schema": {
        if (!isNested) return yield* schemaOf(given, field.name)
        const within = Fields.fieldOf(given, "json_schema", field.name)
        return yield* schemaOf(yield* Fields.requiredObject(within), within.name)
      }
      default:
        return yield* Fields.refuse(type.name, 'must be "text", "json_object" or "json_schema"')
    }
  })

const schemaOf = (given: Schema.JsonObject, within: string): Fields.Read<AnswerFormat> =>
  Result.gen(function* () {
    const nameField = Fields.fieldOf(given, "name", within)
    const name = yield* Fields.requiredText(1, 64)(nameField)
    if (!/^[\w-]+$/.test(name)) {
      return yield* Fields.refuse(nameField.name, "must be of letters, digits, _ and - alone")
    }
    yield* Fields.boolean(Fields.fieldOf(given, "strict", within))
    const description = yield* Fields.text(0, 10_000)(Fields.fieldOf(given, "description", within))
    const schema = yield* Fields.requiredKeptObject(Fields.fieldOf(given, "schema", within))
    return { name, ...(description !== undefined && { description }), schema }
  })
