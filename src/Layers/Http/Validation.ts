import { isUtf8 } from "node:buffer"
import * as Effect from "effect/Effect"
import { MaxBodySize } from "effect/http/HttpIncomingMessage"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import { HttpApiSchemaError } from "effect/http-api/HttpApiError"
import * as Layer from "effect/Layer"
import type { unhandled } from "effect/Types"
import { Validation } from "../../Api/Authorization.ts"
import { InvalidInput } from "../../Schemas/Errors.ts"
import { problemResponse, sentenceOf } from "./Problems.ts"
import * as QueryNames from "./QueryNames.ts"

/**
 * A query parameter that the endpoint does not have is a 400. What does not decode is a 400 that names the field, in a
 * path a 404 like any id that names nothing. A body of another type or charset is a 415, one that announces too much a
 * 413 before it is read, and one that is no UTF-8 a 400: decoding it would change it in silence.
 */
export const layer = Layer.succeed(
  Validation,
  Effect.fnUntraced(function* (httpEffect: Effect.Effect<HttpServerResponse, unhandled>, { endpoint }) {
    yield* QueryNames.requireKnown(endpoint)
    const request = yield* HttpServerRequest
    const maximum = yield* MaxBodySize
    if (hasBody(request.headers)) {
      if (!isJson(request.headers)) return problemResponse(415)
      if (maximum !== undefined && Number(request.headers["content-length"] ?? 0) > Number(maximum)) {
        return problemResponse(413)
      }
      const body = yield* Effect.orDie(request.arrayBuffer)
      if (!isUtf8(new Uint8Array(body))) {
        return yield* new InvalidInput({ error: "body: must be UTF-8" })
      }
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
const isJson = (headers: Headers): boolean => {
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
