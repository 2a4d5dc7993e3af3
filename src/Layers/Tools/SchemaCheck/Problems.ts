import { type OutputUnit, type Schema as RawSchema, type SchemaDraft, Validator } from "@cfworker/json-schema"
import type * as Schema from "effect/Schema"

/** One more than is told, so that it can be said that there are more. */
export const maximumProblems = 11
const longestError = 2_000

export interface Problem {
  readonly keyword: string
  /** A JSON pointer. */
  readonly place: string
  readonly error: string
}

/**
 * What is wrong with a value by a JSON Schema. Throws where the schema can't be evaluated, and writes into
 * it. Imports no more than it needs: the thread that runs it is to start fast and stay small.
 */
export const problemsOf = (given: Schema.JsonObject, value: Schema.Json): ReadonlyArray<Problem> => {
  const schema = given as RawSchema
  const { errors } = new Validator(schema, draftOf(given.$schema), false).validate(value)
  return leaves(errors).map(({ error, instanceLocation, keyword }) => ({
    keyword,
    place: instanceLocation.slice(0, longestError),
    error: error.slice(0, longestError)
  }))
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
    if (found.length >= maximumProblems) break
  }
  return found
}
