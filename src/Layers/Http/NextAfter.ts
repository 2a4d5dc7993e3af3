import * as Effect from "effect/Effect"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"

/** Says in the answer from where a list goes on, `X-Next-After`; null: it is at its end (CONTRACT.md section 3). */
export const setNextAfter = (next: string | null) =>
  next === null
    ? Effect.void
    : HttpEffect.appendPreResponseHandler((_, response) =>
        Effect.succeed(HttpServerResponse.setHeader(response, "x-next-after", next))
      )
