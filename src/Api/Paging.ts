import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { wholeNumber } from "./Fields.ts"

interface Parameter {
  readonly name: string
}

/**
 * The page of a list (CONTRACT.md section 3). Out of bounds is a 400, and what is not sent has its default: a
 * handler always gets both numbers. `transform` tells it to the OpenAPI document, whose generator knows only
 * texts in queries.
 */
export const paging = (defaultLimit: number) => {
  const limit = { minimum: 1, maximum: 100, default: defaultLimit }
  const offset = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 }
  const described = new Map([
    ["limit", { description: "How many at most.", schema: { type: "integer", ...limit } }],
    ["offset", { description: "How many of the first are left out.", schema: { type: "integer", ...offset } }]
  ])
  return {
    query: { limit: defaulted(limit), offset: defaulted(offset) },
    transform: (operation: Record<string, unknown>) => ({
      ...operation,
      parameters: (operation.parameters as ReadonlyArray<Parameter>).map((parameter) => ({
        ...parameter,
        ...described.get(parameter.name)
      }))
    })
  }
}

const defaulted = (bounds: {
  readonly minimum: number
  readonly maximum: number
  readonly default: number
}) =>
  wholeNumber(bounds.minimum, bounds.maximum).pipe(
    Schema.withDecodingDefaultTypeKey(Effect.succeed(bounds.default))
  )
