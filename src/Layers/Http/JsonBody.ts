import { isUtf8 } from "node:buffer"
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import { MaxBodySize } from "effect/http/HttpIncomingMessage"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import { bodyLimit, bodyLimitText } from "../../Api/BodyLimit.ts"
import { InvalidInput } from "../../Schemas/Errors.ts"
import { jsonProblem } from "../../Schemas/JsonLimits.ts"
import { problemResponse } from "./Problems.ts"

/**
 * Reads the body of a request, which the decoder then has at hand, and looks at it before it is parsed: parsing holds
 * up everybody. Answers the response to one that is too large (413), by what it announces or as soon as more than the
 * limit of its endpoint has come, and undefined where it may be parsed. Fails for what is over the limits of
 * `jsonProblem`, and for what is no UTF-8: decoding would change it in silence.
 */
export const refuseBody = (request: HttpServerRequest, endpoint: HttpApiEndpoint.Top) =>
  refuseOver(request, bodyLimit(endpoint))

/** The same with a limit in bytes. */
export const refuseOver = Effect.fnUntraced(function* (request: HttpServerRequest, limit: number) {
  const tooLarge = problemResponse(413, {}, `the request body is larger than ${bodyLimitText(limit)}`)
  if (Number(request.headers["content-length"] ?? 0) > limit) return tooLarge
  const body = yield* request.arrayBuffer.pipe(
    Effect.provideService(MaxBodySize, ByteSize.bytes(limit)),
    Effect.catch((error) =>
      error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"
        ? Effect.succeed(undefined)
        : Effect.die(error)
    )
  )
  if (body === undefined) return tooLarge
  const bytes = new Uint8Array(body)
  const problem = isUtf8(bytes) ? jsonProblem(bytes) : "body: must be UTF-8"
  if (problem !== undefined) return yield* new InvalidInput({ error: problem })
  return undefined
})
