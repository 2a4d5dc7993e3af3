import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { InvalidInput } from "../Errors.ts"
import { textProblem } from "../Text.ts"

/** What a request holds, or the one sentence that refuses it: it begins with the field, as OpenAI's errors call it. */
export type Read<A> = Result.Result<A, InvalidInput>

/** A value that was sent, with its name: `messages[0].content`. */
export interface Field {
  readonly name: string
  readonly value: Schema.Json | undefined
}

export const refuse = (name: string, what: string): Read<never> =>
  Result.fail(new InvalidInput({ error: `${name}: ${what}` }))

/** Says of a field that nothing here does what it asks for: `unsupported_parameter` in OpenAI's errors. */
export const unsupported = "is not supported"

export const refuseUnsupported = (name: string, hint = ""): Read<never> =>
  refuse(name, hint === "" ? unsupported : `${unsupported}: ${hint}`)

/** Says that OpenAI's protocol has no such field, as far as it is known here: `unknown_parameter`. */
export const unknown = "is no parameter of this endpoint"

/** A field of an object that was sent. */
export const fieldOf = (given: Schema.JsonObject, key: string, within = ""): Field => ({
  name: within === "" ? key : `${within}.${key}`,
  value: Object.hasOwn(given, key) ? given[key] : undefined
})

/** What is not there and `null` are the same in OpenAI's protocol. */
export const isGiven = ({ value }: Field): boolean => value !== undefined && value !== null

/** One that must be there. */
export const required = ({ name, value }: Field): Read<Schema.Json> =>
  value === undefined || value === null ? refuse(name, "is required") : Result.succeed(value)

const optional =
  <A>(read: (name: string, value: Schema.Json) => Read<A>) =>
  ({ name, value }: Field): Read<A | undefined> =>
    value === undefined || value === null ? Result.succeed(undefined) : read(name, value)

const must =
  <A>(read: (field: Field) => Read<A | undefined>) =>
  (field: Field): Read<A> =>
    Result.flatMap(required(field), () => read(field) as Read<A>)

export const isObject = (value: Schema.Json | undefined): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const toObject = (name: string, value: Schema.Json): Read<Schema.JsonObject> =>
  isObject(value) ? Result.succeed(value) : refuse(name, "must be an object")

export const object = optional(toObject)
export const requiredObject = must(object)

export const boolean = optional(
  (name, value): Read<boolean> =>
    typeof value === "boolean" ? Result.succeed(value) : refuse(name, "must be true or false")
)

/** A text of `least` to `most` code points. */
export const text = (least: number, most: number) =>
  optional((name, value): Read<string> => {
    if (typeof value !== "string") return refuse(name, "must be a string")
    const problem = textProblem(value, least, most)
    return problem === undefined ? Result.succeed(value) : refuse(name, problem)
  })

export const requiredText = (least: number, most: number) => must(text(least, most))

/** As long as a body may be: it bounds the text. */
const longest = 1024 * 1024
export const anyText = text(0, longest)
export const requiredAnyText = must(anyText)

export const number = (least: number, most: number) =>
  optional(
    (name, value): Read<number> =>
      typeof value === "number" && value >= least && value <= most
        ? Result.succeed(value)
        : refuse(name, `must be a number from ${least} to ${most}`)
  )

export const integer = (least: number, most = Number.MAX_SAFE_INTEGER) =>
  optional((name, value): Read<number> => {
    if (Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most) {
      return Result.succeed(Number(value))
    }
    return refuse(
      name,
      most === Number.MAX_SAFE_INTEGER
        ? `must be a whole number of at least ${least}`
        : `must be a whole number from ${least} to ${most}`
    )
  })

export const oneOf = <const A extends string>(...words: ReadonlyArray<A>) =>
  optional(
    (name, value): Read<A> =>
      words.includes(value as A)
        ? Result.succeed(value as A)
        : refuse(name, `must be ${words.map((word) => `"${word}"`).join(" or ")}`)
  )

/** Why a value can't be kept as it is: texts and names of members alike are what a text may be. */
const problemIn = (value: Schema.Json): string | undefined => {
  if (typeof value === "string") return textProblem(value, 0, longest)
  if (typeof value !== "object" || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    const problem = textProblem(key, 0, longest) ?? problemIn(inner)
    if (problem !== undefined) return problem
  }
  return undefined
}

const toKeptObject = (name: string, value: Schema.Json): Read<Schema.JsonObject> => {
  const problem = problemIn(value)
  return problem === undefined ? toObject(name, value) : refuse(name, problem)
}

/** An object that is kept as it is, whatever it holds. */
export const keptObject = optional(toKeptObject)
export const requiredKeptObject = must(keptObject)

/** Each item of a list of at most `most`, by its name. */
export const list =
  <A>(least: number, most: number, read: (item: Field) => Read<A>) =>
  (field: Field): Read<ReadonlyArray<A>> =>
    Result.flatMap(required(field), (value) =>
      Array.isArray(value) && value.length >= least && value.length <= most
        ? each(field.name, value, read)
        : refuse(
            field.name,
            least > 0 ? `must be ${least} to ${most} items` : `must be at most ${most} items`
          )
    )

const each = <A>(
  name: string,
  items: ReadonlyArray<Schema.Json>,
  read: (item: Field) => Read<A>
): Read<ReadonlyArray<A>> => {
  const found: Array<A> = []
  for (const [index, value] of items.entries()) {
    const item = read({ name: `${name}[${index}]`, value })
    if (Result.isFailure(item)) return Result.fail(item.failure)
    found.push(item.success)
  }
  return Result.succeed(found)
}

/** An item of a list that must be an object. */
export const item = ({ name, value }: Field): Read<Schema.JsonObject> =>
  isObject(value) ? Result.succeed(value) : refuse(name, "must be an object")

/** What a request may not ask for: each by what it may be all the same, as who sends it with each request does. */
export const without =
  (most: Readonly<Record<string, (value: Schema.Json) => boolean>>) =>
  (given: Schema.JsonObject): Read<void> => {
    for (const [name, isNothing] of Object.entries(most)) {
      const { value } = fieldOf(given, name)
      if (value !== undefined && value !== null && !isNothing(value)) return refuseUnsupported(name)
    }
    return Result.succeed(undefined)
  }

/** Refuses what the endpoint has no parameter for: who misspells one must not wonder. */
export const onlyKnown = (known: ReadonlySet<string>, given: Schema.JsonObject, within = ""): Read<void> => {
  for (const key of Object.keys(given)) {
    if (known.has(key)) continue
    return /^[\w-]{1,100}$/u.test(key)
      ? refuse(fieldOf(given, key, within).name, unknown)
      : refuse(within === "" ? "body" : within, "has a parameter that is none of this endpoint")
  }
  return Result.succeed(undefined)
}
