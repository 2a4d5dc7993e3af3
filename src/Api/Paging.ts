import * as Effect from "effect/Effect"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as Schema from "effect/Schema"
import { mostPageRows } from "../Schemas/Page.ts"
import { extension } from "./Extension.ts"
import { data, wholeNumber } from "./Fields.ts"

interface Parameter {
  readonly name: string
}

const mostRows = 100

/** Tells parameters to the OpenAPI document, whose generator knows only texts in queries. */
const describing = (described: Readonly<Record<string, object>>) => (operation: Record<string, unknown>) => ({
  ...operation,
  parameters: (operation.parameters as ReadonlyArray<Parameter>).map((parameter) => ({
    ...parameter,
    ...described[parameter.name]
  }))
})

const limitOf = (schema: object) => ({
  description: "How many at most.",
  schema: { type: "integer", minimum: 1, ...schema }
})

const offset = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 }
const offsetDescribed = {
  description: "How many of the first are left out.",
  schema: { type: "integer", ...offset }
}

/**
 * The page of a list (CONTRACT.md section 3). Out of bounds is a 400, and what is not sent has its default: a
 * handler always gets both numbers.
 */
export const paging = (defaultLimit: number, mostAtOnce = mostRows) => {
  const limit = { minimum: 1, maximum: mostAtOnce, default: defaultLimit }
  return {
    query: { limit: defaulted(limit), offset: defaulted(offset) },
    transform: describing({ limit: limitOf(limit), offset: offsetDescribed })
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

/** The same for a list that can be read on behind an id instead of an offset: not both. */
export const pagingBehind = <S extends Schema.Top>(defaultLimit: number, id: S) => {
  const limit = { minimum: 1, maximum: mostRows, default: defaultLimit }
  return {
    query: {
      limit: defaulted(limit),
      offset: Schema.optionalKey(wholeNumber(offset.minimum, offset.maximum)),
      after: Schema.optionalKey(id)
    },
    transform: describing({
      limit: limitOf(limit),
      offset: offsetDescribed,
      after: beyond("The id of the last one seen, instead of `offset`: those behind it.")
    })
  }
}

/** A parameter that the specification does not have. */
const beyond = (description: string) => ({ description, ...extension.override })

const pageLimit = limitOf({ maximum: mostPageRows })

/** A page of a list that is all of it without one (CONTRACT.md section 3), or what `without` says. */
export const pageOf = <S extends Schema.Top>(id: S, without = "all of them") => ({
  query: {
    limit: Schema.optionalKey(wholeNumber(1, mostPageRows)),
    after: Schema.optionalKey(id)
  },
  description:
    "An answer has at most 32 MiB: over that it is a 400, and `limit` and `after` read the list a page at a time.",
  transform: describing({
    limit: { ...pageLimit, ...beyond(`How many at most. Without it ${without}.`) },
    after: beyond("The id of the last one seen: those behind it.")
  })
})

/** A page of the messages of a conversation, which is read from its end. */
export const newestOf = <S extends Schema.Top>(id: S) => ({
  query: {
    limit: Schema.optionalKey(wholeNumber(1, mostPageRows)),
    before: Schema.optionalKey(id)
  },
  transform: describing({
    limit: { ...pageLimit, ...beyond("How many messages at most, the newest. Without it all of them.") },
    before: beyond("The id of the first message seen: those before it.")
  })
})

/** Of a page that is not the last one: the `after` of the next. */
export const nextAfterHeader = "x-next-after"

const nextAfter = Schema.String.annotate({
  description: "Of a page behind which there is more: the `after` of the next."
})

/** 200 `{"data": […]}`, with the header of a page that is not the last: its value is `nextAfter` to a client, or null. */
export const listed = <S extends Schema.Top>(row: S) => {
  const body = data(Schema.Array(row))
  const whole = Schema.Struct({ ...body.fields, nextAfter: Schema.NullOr(Schema.String) })
  return HttpApiSchema.encodeToWithHeaders<
    typeof whole,
    typeof body,
    { readonly "x-next-after": Schema.optionalKey<Schema.String> }
  >(
    { body, headers: { [nextAfterHeader]: Schema.optionalKey(nextAfter) } },
    {
      decode: ({ body, headers }) => ({ ...body, nextAfter: headers[nextAfterHeader] ?? null }),
      encode: ({ data, nextAfter }) => ({
        body: { data },
        headers: nextAfter === null ? {} : { [nextAfterHeader]: nextAfter }
      })
    }
  )(whole)
}
