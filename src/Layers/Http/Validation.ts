import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import { HttpApiSchemaError } from "effect/http-api/HttpApiError"
import * as Layer from "effect/Layer"
import type { unhandled } from "effect/Types"
import { Validation } from "../../Api/Authorization.ts"
import { InvalidInput } from "../../Schemas/Errors.ts"
import { problemResponse, sentenceOf } from "./Problems.ts"

/** What does not decode is a 400 that names the field; a body of another type is a 415. */
export const layer = Layer.succeed(Validation, (httpEffect) =>
  Effect.flatMap(HttpServerRequest, (request) =>
    hasForeignBody(request.headers)
      ? Effect.succeed(problemResponse(415))
      : Effect.catch(httpEffect, (error): Effect.Effect<never, InvalidInput | unhandled> => {
          if (!HttpApiSchemaError.is(error)) return Effect.fail(error)
          const { kind } = error as HttpApiSchemaError
          return kind === "Body" || kind === "ResponseHeaders"
            ? Effect.die(error)
            : Effect.fail(new InvalidInput({ error: sentenceOf(error) }))
        })
  )
)

/** A body without a content type is foreign too: browsers send such ones across origins unasked. */
const hasForeignBody = (headers: Readonly<Record<string, string | undefined>>): boolean => {
  const type = headers["content-type"]
  if (type !== undefined) return type.split(";")[0]?.trim().toLowerCase() !== "application/json"
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0
}
