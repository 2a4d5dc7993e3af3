import * as Effect from "effect/Effect"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Caller } from "../../../../Schemas/Token.ts"
import {
  type Asked,
  type Exchange,
  exchangeOf,
  type Headers,
  legacyExchange,
  type Outcome
} from "./Exchange.ts"
import * as Follow from "./Follow.ts"
import * as Listen from "./Listen.ts"
import {
  errorMessage,
  idIn,
  invalidRequest,
  RpcError,
  type RpcId,
  type RpcMessage,
  type RpcRequest,
  readMessage,
  resultMessage
} from "./Messages.ts"
import * as Methods from "./Methods.ts"
import { place } from "./Places.ts"
import { acceptedBy, errorResponse, eventFrames, jsonResponse, streamResponse } from "./Wire.ts"

type Response = HttpServerResponse.HttpServerResponse

/** How many messages a batch may have (version 2025-03-26). */
const mostInBatch = 20
/** How long a client is kept waiting that takes no stream. */
const longestHeldMillis = 600_000

const accepted = HttpResponse.empty({ status: 202 })

/**
 * The MCP server (CONTRACT.md section 14). Nothing is kept between two requests: what a client has to say again it says in
 * what it was given (session, cursor, place in a stream, state of a call), and all else is in the runs. So any node
 * answers any request, and goes on with what another has begun (`docs/adr/0036-mcp-server.md`).
 */
export const make = Effect.gen(function* () {
  const follow = yield* Follow.make
  const { answer, ofBatch } = yield* makeAnswer(follow)
  const take = makeTake(follow)

  const one = Effect.fnUntraced(function* (caller: Caller, headers: Headers, message: RpcMessage) {
    if (message.kind !== "request") {
      yield* Effect.fromResult(legacyOrModern(headers))
      yield* take(caller, headers, message)
      return accepted
    }
    const exchange = yield* Effect.fromResult(exchangeOf(headers, message))
    return yield* answer({ caller, headers, request: message, exchange })
  })

  /** All at once; what answers them comes as it is there. */
  const batch = Effect.fnUntraced(function* (
    caller: Caller,
    headers: Headers,
    given: ReadonlyArray<unknown>
  ) {
    const exchange = yield* Effect.fromResult(legacyExchange(headers))
    if (exchange.version !== "2025-03-26")
      return yield* invalidRequest("body: batches are of version 2025-03-26")
    if (given.length === 0 || given.length > mostInBatch) {
      return yield* invalidRequest(`body: a batch has 1 to ${mostInBatch} messages`)
    }
    const messages = given.map(readMessage)
    const requests: Array<Stream.Stream<Follow.Frame>> = []
    for (const message of messages) {
      if (message instanceof RpcError) return yield* message
      if (message.kind !== "request") yield* take(caller, headers, message)
      else if (message.method === "initialize")
        return yield* invalidRequest("initialize: is no part of a batch")
      else requests.push(ofBatch(exchange, { caller, headers, request: message, exchange }))
    }
    if (requests.length === 0) return accepted
    return streamResponse(eventFrames(exchange, Stream.mergeAll(requests, { concurrency: "unbounded" })))
  })

  return {
    /** Answers a POST with this body, which has been read, in the form of the protocol also where it is refused. */
    post: (caller: Caller, headers: Headers, body: string): Effect.Effect<Response> => {
      const given = parsed(body)
      const { json, stream } = acceptedBy(headers.accept)
      const answered = Effect.gen(function* () {
        if (!json && !stream) return yield* notAcceptable
        if (given instanceof RpcError) return yield* given
        if (Array.isArray(given)) return yield* batch(caller, headers, given)
        const message = readMessage(given)
        return message instanceof RpcError ? yield* message : yield* one(caller, headers, message)
      })
      return Effect.catch(answered, (error) => Effect.succeed(errorResponse(idIn(given), error)))
    },
    /** Goes on with a stream that broke off; undefined where none is asked for, as there are no others to read. */
    resume: (caller: Caller, headers: Headers): Effect.Effect<Response | undefined> => {
      const last = headers["last-event-id"]
      if (last === undefined) return Effect.undefined
      const followed = Option.getOrUndefined(place.read(last))
      const answered = Effect.gen(function* () {
        const exchange = yield* Effect.fromResult(legacyExchange(headers))
        if (followed === undefined) return yield* invalidRequest("Last-Event-ID: there is no such event")
        const frames = follow.frames({ caller, header: headers["x-workspace-id"], exchange, followed })
        return streamResponse(eventFrames(exchange, frames, followed))
      })
      return Effect.catch(answered, (error) => Effect.succeed(errorResponse(undefined, error)))
    }
  }
})

/** Of what is no request: a decision of the client's user, or a request that is taken back. */
const makeTake = (follow: Follow.Follow) =>
  Effect.fnUntraced(function* (caller: Caller, headers: Headers, message: Exclude<RpcMessage, RpcRequest>) {
    if (message.kind === "response") {
      yield* Effect.ignore(follow.asking.decide(caller, String(message.id), message.result ?? undefined))
    } else if (message.method === "notifications/cancelled") {
      const id = idIn({ id: message.params.requestId })
      if (id !== undefined) yield* follow.inflight.cancel(caller, headers["mcp-session-id"], id)
    }
  })

/** How one request is answered, and one of several at once. */
const makeAnswer = Effect.fnUntraced(function* (follow: Follow.Follow) {
  const methods = yield* Methods.make
  const listen = yield* Listen.make(methods.tasks)

  const framesOf = (asked: Asked, outcome: Outcome): Stream.Stream<Follow.Frame> => {
    const { caller, exchange, request } = asked
    if ("followed" in outcome) return follow.frames({ caller, exchange, followed: outcome.followed })
    if ("listened" in outcome) return listen(asked, outcome.listened)
    return Stream.succeed({ message: resultMessage(request.id, outcome.result), isLast: true })
  }

  /** The last of what would be told, for clients that take no stream. */
  const held = (id: RpcId, frames: Stream.Stream<Follow.Frame>) =>
    Stream.runLast(frames).pipe(
      Effect.timeoutOption(longestHeldMillis),
      Effect.map((last) => {
        const message = Option.getOrUndefined(Option.flatten(last))?.message
        return jsonResponse(message ?? errorMessage(id, heldTooLong))
      })
    )

  const answer = Effect.fnUntraced(function* (asked: Asked) {
    const { exchange, headers, request } = asked
    const outcome = yield* methods.handle(asked)
    if ("result" in outcome) return jsonResponse(resultMessage(request.id, outcome.result), outcome.headers)
    const frames = framesOf(asked, outcome)
    if (!acceptedBy(headers.accept).stream) return yield* held(request.id, frames)
    const followed = "followed" in outcome ? outcome.followed : undefined
    return streamResponse(eventFrames(exchange, frames, followed))
  })

  const ofBatch = (exchange: Exchange, asked: Asked): Stream.Stream<Follow.Frame> =>
    Stream.unwrap(
      methods.handle({ ...asked, exchange }).pipe(
        Effect.map((outcome) => framesOf(asked, outcome)),
        Effect.catch((error) =>
          Effect.succeed(Stream.succeed({ message: errorMessage(asked.request.id, error), isLast: true }))
        )
      )
    )

  return { answer, ofBatch }
})

/** What is no request says no version; where it does, it is one that there is. */
const legacyOrModern = (headers: Headers) =>
  legacyExchange(
    headers["mcp-protocol-version"] === "2026-07-28"
      ? { ...headers, "mcp-protocol-version": undefined }
      : headers
  )

const parsed = (body: string): unknown => {
  try {
    return JSON.parse(body)
  } catch {
    return new RpcError({ code: -32700, message: "body: must be valid JSON", status: 400 })
  }
}

const notAcceptable = new RpcError({
  code: -32600,
  message: "Accept: must have application/json and text/event-stream",
  status: 406
})

const heldTooLong = new RpcError({
  code: -32603,
  message:
    "it takes longer than a client is kept waiting that takes no event stream; list_runs tells how it goes on"
})
