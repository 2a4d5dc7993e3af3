import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import type { SchemaCheck } from "../../Services/SchemaCheck.ts"
import { ToolError } from "../../Services/ToolSource.ts"

/**
 * Checks the arguments of a call against the JSON Schema of its tool, so that no server is asked for what
 * it has said that it does not take. A schema that can't be evaluated asks for an object and no more.
 */
export const make = ({ check }: SchemaCheck["Service"]) =>
  Effect.fnUntraced(function* (
    /** Whose schema it is. */
    owner: string,
    parameters: Schema.JsonObject,
    argument: Schema.Json
  ): Effect.fn.Return<Schema.JsonObject, ToolError> {
    if (!isObject(argument)) return yield* new ToolError({ error: "arguments: must be a JSON object" })
    const checked = yield* check({ owner, schema: parameters, value: argument, name: "arguments" })
    switch (checked.outcome) {
      case "late":
        return yield* new ToolError({ error: "arguments: could not be checked in time" })
      case "unfit":
        return yield* new ToolError({ error: checked.error })
      default:
        return argument
    }
  })

const isObject = (value: Schema.Json): value is Schema.JsonObject =>
  Predicate.isObject(value) && !Array.isArray(value)
