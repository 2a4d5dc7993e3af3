import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import { HttpApiSchemaError } from "effect/http-api/HttpApiError"
import * as Layer from "effect/Layer"
import type { unhandled } from "effect/Types"
import { Validation } from "../../Api/Authorization.ts"
import { AnswersRun } from "../../Api/Waiting.ts"
import { InvalidInput } from "../../Schemas/Errors.ts"
import { badWait, waitOf } from "../../Schemas/Prefer.ts"
import { refuseBody } from "./JsonBody.ts"
import { problemResponse, sentenceOf } from "./Problems.ts"
import * as QueryNames from "./QueryNames.ts"

/**
 * A query parameter that the endpoint does not have is a 400. What does not decode is a 400 that names the field, in a
 * path a 404 like any id that names nothing. A body of another type or charset is a 415, and what it holds is looked at
 * before it is decoded. A `Prefer: wait` that can't be meant is a 400 where there is one (RFC 7240 leaves that open).
 */
export const layer = Layer.succeed(
  Validation,
  Effect.fnUntraced(function* (
    httpEffect: Effect.Effect<HttpServerResponse, unhandled>,
    { endpoint }: { readonly endpoint: HttpApiEndpoint.Top }
  ) {
    yield* QueryNames.requireKnown(endpoint)
    const request = yield* HttpServerRequest
    if (
      Context.get(endpoint.annotations, AnswersRun) !== undefined &&
      waitOf(request.headers.prefer) === null
    ) {
      return yield* new InvalidInput({ error: badWait })
    }
    if (hasBody(request.headers)) {
      if (!isJson(request.headers)) return problemResponse(415)
      const refused = yield* refuseBody(request, endpoint)
      if (refused !== undefined) return refused
    }
    return yield* Effect.catch(httpEffect, (error) => refuse(error))
  })
)

const refuse = (error: unhandled): Effect.Effect<HttpServerResponse, InvalidInput | unhandled> => {
  if (!HttpApiSchemaError.is(error)) return Effect.fail(error)
  const decoding = error as HttpApiSchemaError
  switch (decoding.kind) {
    case "Body":
    case "ResponseHeaders":
      return Effect.die(decoding)
    case "Params":
      return Effect.succeed(problemResponse(404))
    default:
      return Effect.fail(new InvalidInput({ error: sentenceOf(decoding) }))
  }
}

type Headers = Readonly<Record<string, string | undefined>>

/** A body without a content type is a foreign one: browsers send such ones across origins unasked. */
export const isJson = (headers: Headers): boolean => {
  const [type = "", ...parameters] = partsOf(headers["content-type"] ?? "")
  return type.trim().toLowerCase() === "application/json" && parameters.every(isReadable)
}

/** Read in what it does not say it is in, a text would be changed in silence. ASCII is UTF-8 as well. */
const charsets = new Set(["utf-8", "utf8", "us-ascii"])

const isReadable = (parameter: string): boolean => {
  const [name = "", ...value] = parameter.split("=")
  if (name.trim().toLowerCase() !== "charset") return true
  const charset = value.join("=").trim().toLowerCase()
  return charsets.has(/^"(.*)"$/su.exec(charset)?.[1] ?? charset)
}

/** What semicolons part; those in quotes part nothing. */
const partsOf = (header: string): ReadonlyArray<string> =>
  header.match(/(?:[^;"]|"(?:[^"\\]|\\.)*"?)+/gsu) ?? []

const hasBody = (headers: Headers): boolean =>
  headers["content-type"] !== undefined ||
  headers["transfer-encoding"] !== undefined ||
  Number(headers["content-length"] ?? 0) > 0
