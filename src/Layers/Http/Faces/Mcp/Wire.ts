import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { errorCodeHeader } from "../../../../Api/Errors.ts"
import { eventStreamType } from "../../../../Api/EventStream.ts"
import type { Exchange } from "./Exchange.ts"
import type { Frame } from "./Follow.ts"
import { errorMessage, type RpcError, type RpcId } from "./Messages.ts"
import { type Followed, place } from "./Places.ts"

/** How long a client waits that goes on with a stream elsewhere. */
const retryMillis = 1_000

const codes: Readonly<Record<number, string>> = {
  400: "invalid_input",
  404: "not_found",
  503: "unavailable"
}

/** An error of the protocol, with the status of HTTP that it has there. */
export const errorResponse = (
  id: RpcId | undefined,
  error: RpcError
): HttpServerResponse.HttpServerResponse => {
  const { status = 200 } = error
  return HttpServerResponse.jsonUnsafe(errorMessage(id, error), {
    status,
    headers: {
      ...(status >= 400 && { [errorCodeHeader]: codes[status] ?? "invalid_input" }),
      ...(status === 503 && { "retry-after": "1" })
    }
  })
}

const encoder = new TextEncoder()

/**
 * Frames as Server-Sent Events. Before 2026-07-28 those that tell of an event say where the stream is: with that (`GET`,
 * `Last-Event-ID`) any node goes on. The first says so already, where clients know an event without data (2025-11-25).
 */
export const eventFrames = (
  exchange: Exchange,
  frames: Stream.Stream<Frame>,
  followed?: Followed
): Stream.Stream<Uint8Array> => {
  const isResumable = followed !== undefined && !exchange.isModern
  const first =
    isResumable && exchange.version === "2025-11-25" ? `id: ${place.write(followed)}\ndata: \n\n` : ": \n\n"
  const write = ({ after, isLast, message }: Frame): string => {
    if (message === undefined) return isLast ? `retry: ${retryMillis}\n\n` : ": \n\n"
    const id = isResumable && after !== undefined ? `id: ${place.write({ ...followed, after })}\n` : ""
    return `${id}event: message\ndata: ${JSON.stringify(message)}\n\n`
  }
  return Stream.concat(Stream.succeed(first), Stream.map(frames, write)).pipe(
    Stream.map((text) => encoder.encode(text))
  )
}

export const streamResponse = (body: Stream.Stream<Uint8Array>): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(body, {
    contentType: eventStreamType,
    headers: { "cache-control": "no-cache", "x-accel-buffering": "no" }
  })

export const jsonResponse = (
  message: Schema.JsonObject | ReadonlyArray<Schema.JsonObject>,
  headers: Readonly<Record<string, string>> = {}
): HttpServerResponse.HttpServerResponse => HttpServerResponse.jsonUnsafe(message, { headers })

/** What a client takes; one that says nothing takes both. */
export const acceptedBy = (accept: string | undefined) => {
  const ranges = (accept ?? "*/*").split(",").map((range) => range.split(";")[0]?.trim().toLowerCase())
  const has = (type: string) =>
    ranges.some((range) => range === type || range === "*/*" || range === `${type.split("/")[0]}/*`)
  return { stream: has("text/event-stream"), json: has("application/json") }
}
