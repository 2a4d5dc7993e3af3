import { type OutputUnit, type Schema as RawSchema, type SchemaDraft, Validator } from "@cfworker/json-schema"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import { cut } from "../../Schemas/Text.ts"
import { ToolError } from "../../Services/ToolSource.ts"
import { within } from "./Arguments/TimeLimit.ts"

const limitMillis = 100
const maximumProblems = 10

/**
 * Checks the arguments of a call against the JSON Schema of its tool, so that no server is asked for what
 * it has said that it does not take. Schemas come from foreign servers: one that takes longer than 100 ms or
 * overflows the stack fails the check; one that can't be evaluated (a reference to nothing, a pattern that
 * is none) asks for an object and no more.
 */
export const checkArguments = (
  parameters: Schema.JsonObject,
  argument: Schema.Json
): Effect.Effect<Schema.JsonObject, ToolError> =>
  Effect.suspend(() => {
    if (!isObject(argument)) return Effect.fail(new ToolError({ error: "arguments: must be a JSON object" }))
    const checked = within(limitMillis, () => problems(parameters, argument))
    switch (checked.outcome) {
      case "failed":
        return Effect.succeed(argument)
      case "exceeded":
        return Effect.fail(new ToolError({ error: "arguments: could not be checked in time" }))
      case "done":
        return checked.value.length === 0
          ? Effect.succeed(argument)
          : Effect.fail(new ToolError({ error: sentence(checked.value) }))
    }
  })

const isObject = (value: Schema.Json): value is Schema.JsonObject =>
  Predicate.isObject(value) && !Array.isArray(value)

const problems = (parameters: Schema.JsonObject, argument: Schema.JsonObject): ReadonlyArray<OutputUnit> => {
  // The validator writes into the schema that it is given.
  const schema = structuredClone(parameters) as RawSchema
  const { errors } = new Validator(schema, draftOf(parameters.$schema), false).validate(argument)
  return leaves(errors)
}

const draftOf = (given: unknown): SchemaDraft => {
  if (typeof given !== "string") return "2020-12"
  if (/draft-0[1-4]\b/u.test(given)) return "4"
  if (/draft-0[5-7]\b/u.test(given)) return "7"
  return given.includes("2019-09") ? "2019-09" : "2020-12"
}

/** A problem deep inside is told for each level above as well: these are the ones that say what is wrong. */
const leaves = (errors: ReadonlyArray<OutputUnit>): ReadonlyArray<OutputUnit> => {
  const found: Array<OutputUnit> = []
  for (const [index, error] of errors.entries()) {
    const next = errors[index + 1]
    // What a `false` schema refuses is told without the place of that schema.
    const isOuter =
      next !== undefined &&
      (next.keyword === "false" || next.keywordLocation.startsWith(`${error.keywordLocation}/`))
    if (!isOuter) found.push(error)
    if (found.length > maximumProblems) break
  }
  return found
}

const sentence = (found: ReadonlyArray<OutputUnit>): string => {
  const told = found.slice(0, maximumProblems).map(({ error, instanceLocation, keyword }) => {
    const place = instanceLocation.replace(/^#\/?/u, "").replaceAll("/", ".")
    const problem = keyword === "false" ? "is not allowed" : cut(error.replace(/\.$/u, ""), 300)
    return `${place === "" ? "arguments" : cut(place, 200)}: ${problem}`
  })
  return [...new Set(told), ...(found.length > maximumProblems ? ["and more"] : [])].join("; ")
}
